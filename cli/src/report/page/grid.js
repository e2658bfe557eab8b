
// A list of any length: only the rows in sight are in the page. It is one stop of the Tab key, and arrow keys move in it.

/** Browsers cannot lay out more than some 16 million pixels; beyond this the scroll bar moves through rows faster. */
const MAX_HEIGHT = 8000000;

class Grid {
  /** `columns` are pairs of class and title; `fill(row element, cells, item)` shows an item. */
  constructor(view, label, columns, fill, { onOpen, onScroll = () => {} }) {
    this.fill = fill;
    this.columns = columns;
    this.onOpen = onOpen;
    this.onScroll = onScroll;
    this.items = [];
    this.current = -1;
    this.pool = [];

    this.head = element("div", "grid-head", ...columns.map(([name, title]) => element("div", name, title)));
    this.head.setAttribute("role", "row");
    for (const cell of this.head.children) cell.setAttribute("role", "columnheader");
    this.rows = element("div", "grid-rows");
    this.rows.setAttribute("role", "rowgroup");
    this.space = element("div", "grid-space", this.rows);
    this.space.setAttribute("role", "presentation");
    this.body = element("div", "grid-body", this.space);
    this.body.tabIndex = 0;
    this.body.setAttribute("role", "rowgroup");
    this.grid = element("div", "grid", this.head, this.body);
    this.grid.setAttribute("role", "grid");
    this.grid.setAttribute("aria-label", label);
    this.empty = element("p", "empty");
    view.append(this.grid, this.empty);

    // The grid's name and state are announced where the focus is.
    this.body.setAttribute("aria-label", label);
    this.body.addEventListener("scroll", () => this.draw());
    this.body.addEventListener("keydown", (event) => this.onKey(event));
    this.rows.addEventListener("click", (event) => {
      const row = event.target.closest(".grid-row");
      if (row) this.open(Number(row.dataset.index));
    });
    new ResizeObserver(() => this.layOut()).observe(this.body);
  }

  show(items, emptyText) {
    const currentItem = this.items[this.current];
    this.items = items;
    this.current = currentItem === undefined ? -1 : items.indexOf(currentItem);
    this.grid.hidden = items.length === 0;
    this.empty.hidden = items.length > 0;
    this.empty.textContent = emptyText;
    this.grid.setAttribute("aria-rowcount", String(items.length + 1));
    if (this.current < 0) this.body.scrollTop = 0;
    this.layOut();
  }

  /** Adapts to the size of the view, whose style says how high a row is. */
  layOut() {
    this.rowHeight = parseFloat(getComputedStyle(this.body).getPropertyValue("--row-height"));
    this.space.style.height = `${Math.min(this.items.length * this.rowHeight, MAX_HEIGHT)}px`;
    if (this.current >= 0) this.reveal(this.current);
    this.draw();
  }

  get visibleRows() {
    return Math.max(1, Math.floor(this.body.clientHeight / this.rowHeight));
  }

  /** The first item in sight, with a fraction if it is only partly in sight. */
  get top() {
    const scrollable = this.space.offsetHeight - this.body.clientHeight;
    const hidden = this.items.length - this.body.clientHeight / this.rowHeight;
    if (scrollable <= 0 || hidden <= 0) return 0;
    return (this.body.scrollTop / scrollable) * hidden;
  }

  scrollToTop(item) {
    const scrollable = this.space.offsetHeight - this.body.clientHeight;
    const hidden = this.items.length - this.body.clientHeight / this.rowHeight;
    this.body.scrollTop = hidden <= 0 ? 0 : (item / hidden) * scrollable;
  }

  reveal(index) {
    const visible = this.body.clientHeight / this.rowHeight;
    if (index < this.top) this.scrollToTop(index);
    else if (index + 1 > this.top + visible) this.scrollToTop(index + 1 - visible);
  }

  draw() {
    if (this.body.clientHeight === 0) return;
    const top = this.top;
    const first = Math.floor(top);
    const count = Math.min(this.items.length - first, Math.ceil(this.body.clientHeight / this.rowHeight) + 1);
    this.onScroll(this.items.slice(first, first + count));
    while (this.pool.length < count) this.pool.push(this.makeRow());
    this.pool.forEach((row, at) => {
      row.hidden = at >= count;
      if (row.hidden) return;
      const index = first + at;
      row.style.top = `${(at - (top - first)) * this.rowHeight}px`;
      row.dataset.index = String(index);
      row.id = `${this.grid.parentElement.id}-row-${at}`;
      row.setAttribute("aria-rowindex", String(index + 2));
      row.className = `grid-row${index % 2 === 1 ? " odd-row" : ""}${index === this.current ? " current" : ""}`;
      row.setAttribute("aria-selected", String(index === this.current));
      if (index === this.current) this.body.setAttribute("aria-activedescendant", row.id);
      this.fill(row, row.children, this.items[index]);
    });
  }

  makeRow() {
    const row = element("div", "grid-row", ...this.columns.map(([name]) => element("div", name)));
    row.setAttribute("role", "row");
    for (const cell of row.children) cell.setAttribute("role", "gridcell");
    this.rows.append(row);
    return row;
  }

  select(index) {
    if (this.items.length === 0) return;
    this.current = Math.max(0, Math.min(this.items.length - 1, index));
    this.reveal(this.current);
    this.draw();
  }

  open(index) {
    this.select(index);
    this.onOpen(this.items[this.current]);
  }

  onKey(event) {
    const page = this.visibleRows - 1;
    const targets = {
      ArrowDown: this.current + 1,
      ArrowUp: this.current - 1,
      PageDown: this.current + page,
      PageUp: this.current - page,
      Home: 0,
      End: this.items.length - 1,
    };
    if (event.key in targets) {
      this.select(targets[event.key]);
      // While payloads are open, they follow.
      if (!byId("detail").hidden) this.onOpen(this.items[this.current]);
    } else if (event.key === "Enter" || event.key === " ") {
      this.open(this.current);
    } else {
      return;
    }
    event.preventDefault();
  }
}
