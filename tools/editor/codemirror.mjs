// The parts of CodeMirror 6 that an editable cell needs, as window.CodeMirror (make vendor).
export { EditorView, keymap, drawSelection, highlightSpecialChars } from "@codemirror/view";
export { EditorState, Prec } from "@codemirror/state";
export { defaultKeymap, history, historyKeymap, indentWithTab, temporarilySetTabFocusMode } from "@codemirror/commands";
export { python } from "@codemirror/lang-python";
export { syntaxHighlighting, HighlightStyle, indentUnit, bracketMatching } from "@codemirror/language";
export { tags } from "@lezer/highlight";
