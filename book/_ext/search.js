// Of equal results a page comes before a place on a page; below each page stands the sentence that describes it.
Scorer.score = (result) => {
  if (result[4] < 100) result[2] = result[2].replace(/^#equation-.*/, ""); // typing Eq 2: for Eq 20 to 29 their page
  return result[4] + (result[2] ? 0 : 0.5);
};
new MutationObserver(() => {
  for (const link of document.querySelectorAll("#search-results li > a:only-child")) {
    const answer = ANSWERS[link.getAttribute("href").split(".html")[0]]; // book/_ext/pages.py
    const isPage = !link.textContent.includes(" > "); // or a section of one
    if (answer && isPage) link.insertAdjacentHTML("afterend", `<p class="context">${answer}</p>`);
  }
}).observe(document, { childList: true, subtree: true });
