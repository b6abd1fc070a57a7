// What the theme leaves out for keyboards and screen readers: names, and scrolling by keys.
document$.subscribe(() => {
  setTimeout(() => {
    document.querySelector(".md-search")?.setAttribute("aria-label", "Search");
    for (const wide of document.querySelectorAll(".md-typeset__scrollwrap")) wide.tabIndex = 0;
    for (const [k, bar] of document.querySelectorAll(".md-code__nav").entries())
      bar.setAttribute("aria-label", `Code block ${k + 1}`);
  }, 50);
});
