// Sorting and filtering. The page is whole without it: this only rearranges what is there.
//
// The address can carry a view: #sort=TABLE:COLUMN:asc|desc&filter=TEXT&group=TITLE&quiet=1
"use strict";
(() => {
  const tables = [...document.querySelectorAll("table")];
  const filter = document.getElementById("filter");
  const group = document.getElementById("group");
  const quiet = document.getElementById("quiet");
  const shown = document.getElementById("shown");

  /** What a cell sorts by: its value when it has one, else its text. */
  function valueOf(row, column) {
    const cell = row.cells[column];
    if (!cell) return null;
    if (cell.dataset.sort !== undefined) return Number(cell.dataset.sort);
    return cell.textContent.trim();
  }

  /** Numbers before texts, nothing last, whichever the direction. */
  function compare(one, other, direction) {
    const missing = (value) => value === null || value === "" || value === "—";
    if (missing(one) || missing(other)) return missing(one) - missing(other);
    if (typeof one === "number" && typeof other === "number") return direction * (one - other);
    if (typeof one === "number") return -1;
    if (typeof other === "number") return 1;
    return direction * one.localeCompare(other, "en", { numeric: true });
  }

  function sort(table, column, ascending) {
    const body = table.tBodies[0];
    const direction = ascending ? 1 : -1;
    const rows = [...body.rows];
    rows.sort((a, b) => compare(valueOf(a, column), valueOf(b, column), direction));
    body.append(...rows);
    [...table.tHead.rows[0].cells].forEach((head, index) => {
      if (index === column) head.setAttribute("aria-sort", ascending ? "ascending" : "descending");
      else head.removeAttribute("aria-sort");
    });
  }

  /** Every word of the filter must occur in the row's configuration or in its text. */
  function matches(row) {
    const text = (row.dataset.key + " " + row.textContent).toLowerCase();
    const words = filter.value.toLowerCase().split(/\s+/).filter(Boolean);
    if (!words.every((word) => text.includes(word))) return false;
    if (group.value && row.dataset.group && row.dataset.group !== group.value) return false;
    return !(quiet.checked && row.dataset.noisy);
  }

  function apply() {
    let hidden = 0;
    let all = 0;
    for (const row of document.querySelectorAll("tbody tr[data-key]")) {
      row.hidden = !matches(row);
      all += 1;
      hidden += row.hidden ? 1 : 0;
    }
    shown.textContent = hidden ? `${all - hidden} of ${all} rows shown` : "";
  }

  function headings(table) {
    [...table.tHead.rows[0].cells].forEach((head, column) => {
      const button = document.createElement("button");
      button.type = "button";
      button.textContent = head.textContent;
      button.addEventListener("click", () => {
        sort(table, column, head.getAttribute("aria-sort") !== "ascending");
      });
      head.replaceChildren(button);
    });
  }

  /** Applies the view that the address carries, if it carries one. */
  function view() {
    const wanted = new URLSearchParams(location.hash.slice(1));
    if (wanted.has("filter")) filter.value = wanted.get("filter");
    if (wanted.has("group")) group.value = wanted.get("group");
    if (wanted.has("quiet")) quiet.checked = wanted.get("quiet") === "1";
    for (const order of wanted.getAll("sort")) {
      const [id, column, direction] = order.split(":");
      const table = document.getElementById(id);
      const head = table?.tHead?.rows[0].cells[Number(column)];
      if (head) sort(table, Number(column), direction !== "desc");
    }
    apply();
  }

  tables.forEach(headings);
  filter.addEventListener("input", apply);
  group.addEventListener("change", apply);
  quiet.addEventListener("change", apply);
  window.addEventListener("hashchange", view);
  document.getElementById("tools").hidden = false;
  view();
})();
