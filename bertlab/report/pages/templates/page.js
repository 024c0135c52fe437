// Folds the figures on a small screen; sorts the studies of the table of all by a click on a heading, and filters them by words.
if (matchMedia("screen and (max-width: 40rem)").matches) {
  document.querySelectorAll(".figures > details").forEach(figure => { figure.open = false })
}
const table = document.querySelector("table.studies")
const cell = (body, column) => body.querySelector(`[data-place="${column}"]`)
const key = (body, column) => cell(body, column).dataset.sort ?? cell(body, column).innerText
const compare = (a, b) => a - b || a.localeCompare(b) // numbers by size, words by letter
const headings = [...(table?.tHead.rows[0].cells ?? [])]
headings.forEach((heading, column) => {
  const button = document.createElement("button")
  button.append(...heading.childNodes)
  heading.append(button)
  button.onclick = () => {
    const up = heading.getAttribute("aria-sort") === "ascending" ? -1 : 1
    headings.forEach(other => other.removeAttribute("aria-sort"))
    heading.setAttribute("aria-sort", up === 1 ? "ascending" : "descending")
    table.append(...[...table.tBodies].sort((a, b) => up * compare(key(a, column), key(b, column))))
  }
})
const label = document.createElement("label")
const words = document.createElement("input")
words.type = "search"
label.className = "filter"
label.append("Filter ", words)
words.oninput = () => [...table.tBodies].forEach(body => {
  body.hidden = !words.value.toLowerCase().split(/\s+/).every(word => body.innerText.toLowerCase().includes(word))
})
if (table?.tBodies.length > 1) table.parentElement.before(label)
