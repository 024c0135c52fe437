// Folds the figures on a small screen; sorts the studies of the table of all by a click on a heading, and filters them by words.
if (matchMedia("screen and (max-width: 40rem)").matches) {
  document.querySelectorAll(".figures > details").forEach(each => { each.open = false })
}
const table = document.querySelector("table.studies")
const cell = (body, place) => body.querySelector(`[data-place="${place}"]`)
const key = (body, place) => cell(body, place).dataset.sort ?? cell(body, place).innerText
const compare = (a, b) => a - b || a.localeCompare(b) // numbers by size, words by letter
const headings = [...(table?.tHead.rows[0].cells ?? [])]
headings.forEach((heading, place) => {
  const button = document.createElement("button")
  button.append(...heading.childNodes)
  heading.append(button)
  button.onclick = () => {
    const up = heading.getAttribute("aria-sort") === "ascending" ? -1 : 1
    headings.forEach(each => each.removeAttribute("aria-sort"))
    heading.setAttribute("aria-sort", up === 1 ? "ascending" : "descending")
    table.append(...[...table.tBodies].sort((a, b) => up * compare(key(a, place), key(b, place))))
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
