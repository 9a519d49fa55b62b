// One run as lanes: a column for each thread, a row for each step. Only the visible rows are in the page.

const ROW = 24;
const HEAD = 26;
const NUMBERS = 56;
const NARROWEST = 108;
// A narrower lane has no room for locations.
const WITH_PLACES = 180;
// Browsers do not scroll further than some millions of pixels; a longer run is scrolled in larger steps.
const TALLEST = 8e6;
const MOST_ARROWS = 400;
// The approximate width of a letter in a cell.
const LETTER = 7.55;

function make(tag, name, text) {
  const node = document.createElement(tag);
  if (name) node.className = name;
  if (text !== undefined) node.textContent = text;
  return node;
}

function draw(tag, attributes) {
  const node = document.createElementNS('http://www.w3.org/2000/svg', tag);
  for (const [name, value] of Object.entries(attributes)) node.setAttribute(name, value);
  return node;
}

class Lanes {
  // `marks` has a letter for some steps; `choose` is called with the step that the user selects.
  constructor(run, title, pairs, marks, choose) {
    this.run = run;
    this.pairs = pairs;
    this.marks = marks;
    this.choose = choose;
    this.current = NONE;
    this.isTwin = false;
    this.node = make('section', 'run ' + (run.failure ? 'fails' : 'passes'));
    this.node.append(make('h2', '', title));
    this.box = make('div', 'lanes');
    this.box.tabIndex = 0;
    this.box.setAttribute('role', 'region');
    this.box.setAttribute('aria-label', title);
    this.heads = make('div', 'heads');
    this.spacer = make('div', 'spacer');
    this.window = make('div', 'window');
    this.box.append(this.heads, this.spacer, this.window);
    this.node.append(this.box);
    this.box.addEventListener('scroll', () => this.render());
    this.show(run.filtered(NONE, NONE));
  }

  show(steps) {
    this.steps = steps;
    this.rowOf = new Int32Array(this.run.size).fill(NONE);
    steps.forEach((step, row) => (this.rowOf[step] = row));
    // Threads without a visible step have no lane.
    const seen = new Set(Array.from(steps, (step) => this.run.thread[step]));
    this.laneOf = new Int32Array(this.run.threads.length).fill(NONE);
    this.lanes = this.run.threads.map((_, thread) => thread).filter((thread) => seen.has(thread));
    this.lanes.forEach((thread, lane) => (this.laneOf[thread] = lane));
    // Fewer rows may end above the part that was visible.
    this.window.replaceChildren();
    this.window.style.top = '0px';
    this.box.scrollTop = 0;
    this.resize();
  }

  resize() {
    const room = this.box.clientWidth || 600;
    const lanes = Math.max(1, this.lanes.length);
    this.lane = Math.max(NARROWEST, Math.min(340, Math.floor((room - NUMBERS - 8) / lanes)));
    this.width = Math.max(room - 4, NUMBERS + lanes * this.lane);
    this.tall = this.steps.length * ROW + 8;
    this.height = Math.min(this.tall, TALLEST);
    this.spacer.style.height = this.height + 'px';
    this.spacer.style.width = this.heads.style.width = this.width + 'px';
    this.heads.replaceChildren(
      ...this.lanes.map((thread, lane) => {
        const head = make('span', '', this.run.threads[thread]);
        head.title = this.run.threads[thread];
        head.style.cssText = `left:${NUMBERS + lane * this.lane}px;width:${this.lane - 6}px;--hue:${hue(thread)}`;
        return head;
      }),
    );
    this.render();
  }

  // The number of pixels of the run above the visible ones.
  above() {
    const view = this.box.clientHeight - HEAD;
    if (this.tall === this.height) return this.box.scrollTop;
    return (this.box.scrollTop / Math.max(1, this.height - view)) * (this.tall - view);
  }

  scrollTo(row) {
    const view = Math.max(ROW * 3, this.box.clientHeight - HEAD);
    const above = this.above();
    const [top, bottom] = [row * ROW, (row + 1) * ROW];
    if (top >= above + ROW && bottom <= above + view - ROW) return;
    const wanted = Math.max(0, Math.min(this.tall - view, top - view / 2));
    const scale = this.tall === this.height ? 1 : (this.height - view) / (this.tall - view);
    this.box.scrollTop = wanted * scale;
  }

  setCurrent(step, isTwin) {
    this.current = step;
    this.isTwin = isTwin;
    if (step !== NONE && this.rowOf[step] !== NONE) {
      this.scrollTo(this.rowOf[step]);
      const left = this.laneOf[this.run.thread[step]] * this.lane;
      const view = this.box.clientWidth - NUMBERS;
      if (left < this.box.scrollLeft || left + this.lane > this.box.scrollLeft + view) {
        this.box.scrollLeft = Math.max(0, left - view / 3);
      }
    }
    this.render();
  }

  render() {
    const above = this.above();
    const view = this.box.clientHeight || 400;
    const from = Math.max(0, Math.floor(above / ROW) - 4);
    const to = Math.max(from, Math.min(this.steps.length, Math.ceil((above + view) / ROW) + 4));
    this.window.style.top = HEAD + this.box.scrollTop - (above - from * ROW) + 'px';
    const rows = [];
    for (let row = from; row < to; row++) rows.push(this.row(this.steps[row], row - from));
    this.window.replaceChildren(this.picture(from, to), ...rows);
  }

  words(step) {
    const isWaiting = step >= this.run.executed && this.lane >= WITH_PLACES;
    return (isWaiting ? 'waits: ' : '') + this.run.statement(step);
  }

  // The same, shortened to the available width. A value is at the end, where it would be truncated, and is
  // more important than the name before it.
  shortWords(step) {
    const words = this.words(step);
    const letters = Math.floor((this.lane - 18 - (this.marks.has(step) ? 19 : 0) - 10) / LETTER);
    const value = this.run.valueLength(step);
    const before = letters - value - 1;
    return words.length <= letters || value === 0 || before < 2 ? words : words.slice(0, before) + '…' + words.slice(-value);
  }

  // The approximate width of the location of a step, or 0 if the cell has no room for it: a truncated
  // location has no line.
  placeRoom(step) {
    const room = this.run.short(step).length * 6.7 + 6;
    return this.lane >= WITH_PLACES && this.wordsRoom(step) + room <= this.lane - 18 ? room : 0;
  }

  wordsRoom(step) {
    return this.shortWords(step).length * LETTER + (this.marks.has(step) ? 19 : 0) + 10;
  }

  // The approximate width of the cell of a step.
  room(step) {
    return Math.min(this.lane - 18, this.wordsRoom(step) + this.placeRoom(step));
  }

  row(step, place) {
    const run = this.run;
    const thread = run.thread[step];
    const node = make('div', 'row');
    if (step === this.current) node.classList.add(this.isTwin ? 'twin' : 'now');
    if (run.isSwitch(step)) node.classList.add('switch');
    node.style.cssText = `top:${place * ROW}px;width:${this.width}px`;
    node.dataset.step = step;
    const waits = step >= run.executed;
    const cell = make('button', waits ? 'cell waiting' : 'cell', this.shortWords(step));
    cell.type = 'button';
    cell.tabIndex = -1;
    if (this.marks.has(step)) cell.prepend(make('span', 'mark', this.marks.get(step)));
    if (this.placeRoom(step) > 0) cell.append(make('small', '', run.short(step)));
    const mark = this.marks.has(step) ? `${this.marks.get(step)} of the idiom\n` : '';
    cell.title = `${mark}${run.threads[thread]}${waits ? ' waits' : ''}: ${run.statement(step)}\n${run.places[run.place[step]][0]}`;
    const left = NUMBERS + this.laneOf[thread] * this.lane + 12;
    cell.style.cssText = `left:${left}px;max-width:${this.lane - 18}px;--hue:${hue(thread)}`;
    cell.addEventListener('click', () => this.choose(step));
    node.append(make('span', 'number', waits ? '…' : step + 1), cell);
    return node;
  }

  // Held locks, waits, and arrows between the visible rows.
  picture(from, to) {
    const run = this.run;
    const svg = draw('svg', { width: this.width, height: (to - from) * ROW, 'aria-hidden': 'true' });
    const x = (step) => NUMBERS + this.laneOf[run.thread[step]] * this.lane;
    const middle = (row) => Math.max(-2000, Math.min((to - from) * ROW + 2000, (row - from) * ROW + ROW / 2));
    const isAll = this.steps.length === run.size;
    if (isAll) {
      for (const [spans, name] of [[run.holds, 'hold'], [run.waits, 'wait']]) {
        for (let at = 0; at < spans.length; at += 4) {
          const lane = this.laneOf[spans[at]];
          if (spans[at + 2] >= to || spans[at + 3] < from || lane === NONE) continue;
          const left = NUMBERS + lane * this.lane + (name === 'wait' ? 9 : 2 + (spans[at + 1] & 1) * 4);
          const end = spans[at + 3] >= run.size ? middle(run.size) : middle(spans[at + 3]);
          const line = draw('line', { class: name, x1: left, x2: left, y1: middle(spans[at + 2]), y2: end });
          line.style.setProperty('--hue', hue(spans[at]));
          svg.append(line);
        }
      }
    }
    let drawn = 0;
    const arrow = (first, second, name, words) => {
      const [one, other] = [this.rowOf[first], this.rowOf[second]];
      const isFar = Math.max(one, other) < from || Math.min(one, other) >= to;
      if (one === NONE || other === NONE || isFar || drawn >= MOST_ARROWS) return;
      drawn++;
      const isRight = x(second) >= x(first);
      const [x1, y1, y2] = [x(first) + 40, middle(one) + ROW / 2 - 3, middle(other)];
      const x2 = isRight ? x(second) + 11 : x(second) + 13 + this.room(second);
      const path = draw('path', { class: name, d: `M${x1} ${y1} Q${x1} ${y2} ${x2} ${y2}` });
      path.append(draw('title', {}));
      path.firstChild.textContent = words;
      const back = isRight ? x2 - 7 : x2 + 7;
      const tip = { class: name === 'pair' ? 'tip of-pair' : 'tip', d: `M${x2} ${y2}L${back} ${y2 - 4}L${back} ${y2 + 4}Z` };
      svg.append(path, draw('path', tip));
    };
    for (const [first, second, role] of this.pairs) arrow(first, second, 'pair', role);
    for (let at = 0; at < run.edges.length; at += 3) {
      arrow(run.edges[at], run.edges[at + 1], 'edge', run.edgeKinds[run.edges[at + 2]]);
    }
    return svg;
  }
}
