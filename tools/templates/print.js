// For reading, not for the screen: open what is folded (but not the code of pictures), show the reasons under the
// questions. A hidden link to an element makes Chromium keep its place in the document.
function openAll() {
  document.documentElement.dataset.theme = 'light';
  document.querySelectorAll('details').forEach(d => { d.open = !d.matches('.above-input'); });
  document.querySelectorAll('.toggle-hidden').forEach(e => e.classList.remove('toggle-hidden'));
  document.querySelectorAll('.question-reason').forEach(e => { e.hidden = false; });
  document.querySelectorAll('img[loading=lazy]').forEach(i => { i.loading = 'eager'; });
  for (const book of document.querySelectorAll('.companion-flipbook')) {
    const cell = book.closest('.cell');
    let before = cell.previousElementSibling;
    while (before && !before.matches('.cell, h2, h3')) before = before.previousElementSibling;
    if (before?.querySelector('.cell_output img')) cell.remove();
  }
  const places = document.createElement('div');
  places.style.display = 'none';
  for (const target of document.querySelectorAll('.bd-article [id]:not(mjx-container *)')) {
    const link = document.createElement('a');
    link.href = '#' + target.id;
    places.append(link);
  }
  document.body.append(places);
  // Other links become addresses, of which tools/pdf.py makes links inside the document.
  document.querySelectorAll('.bd-article a[href^="#"]').forEach(a => { a.href = `${location.pathname}?${a.hash}`; });
  return Promise.all([...document.images].map(i => i.decode().catch(() => null)));
}

// What is still too wide shrinks to fit.
function fit() {
  for (const formula of document.querySelectorAll('mjx-container[display=true]')) {
    const svg = formula.querySelector('svg');
    const room = formula.parentElement.getBoundingClientRect().width;
    const width = svg ? svg.getBoundingClientRect().width : 0;
    if (width > room) formula.style.fontSize = `${100 * room / width - 0.5}%`;
  }
  for (const table of document.querySelectorAll('.bd-article table')) {
    const room = table.parentElement.getBoundingClientRect().width;
    if (table.scrollWidth > room + 1) table.style.zoom = room / table.scrollWidth;
  }
}
