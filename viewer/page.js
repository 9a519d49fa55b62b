// The page: the current step, and everything that depends on it.

const by = (id) => document.getElementById(id);
const data = JSON.parse(by('data').textContent);
const runs = data.runs.map((run) => new Run({ ...run, edgeKinds: data.edgeKinds }));
const failing = runs[0];
// A longer run is opened with the steps that matter alone.
const LONG = 30;
const state = {
  step: Math.max(0, data.start), run: 0, thread: '', object: '', file: NONE,
  relevant: data.relevant.length > 0 && failing.size > LONG,
};

const pairsOf = (run) => {
  const pairs = [];
  for (let at = 0; at < data.pairs.length; at += 3) {
    let [first, second] = [data.pairs[at], data.pairs[at + 1]];
    if (run !== failing) [first, second] = [failing.twin(first, run), failing.twin(second, run)];
    // In the other run the pair may be reversed.
    if (first !== NONE && second !== NONE) {
      pairs.push([Math.min(first, second), Math.max(first, second), data.roles[data.pairs[at + 2]]]);
    }
  }
  return pairs;
};

// The steps of a run that matter, by number.
const relevantOf = (run) =>
  new Set(data.relevant.map((step) => (run === failing ? step : failing.twin(step, run))));

// The letters of the idiom's events in a run.
const marksOf = (run) => {
  const marks = new Map();
  for (const [letter, step] of data.idiom ? data.idiom.events : []) {
    const there = run === failing ? step : failing.twin(step, run);
    if (there !== NONE) marks.set(there, letter);
  }
  return marks;
};

const views = runs.map(
  (run, index) => new Lanes(run, data.labels[index], pairsOf(run), marksOf(run), (step) => go(step, index)),
);
by('runs').append(...views.map((view) => view.node));
const relevant = runs.map(relevantOf);

// Shows a step of a run; another run shows the same step of the same thread.
function go(step, index = state.run) {
  const run = runs[index];
  if (run.size === 0) return;
  state.run = index;
  state.step = Math.max(0, Math.min(run.size - 1, step));
  views.forEach((view, other) => {
    if (other === index) view.setCurrent(state.step, false);
    else view.setCurrent(run.twin(state.step, runs[other]), true);
  });
  say(run);
  showState(run);
  showSource(run);
}

function say(run) {
  const step = state.step;
  const waits = step >= run.executed;
  const number = waits ? 'After the last step' : `Step ${step + 1} of ${run.executed}`;
  const verb = waits ? 'waits to do' : 'does';
  const note = run.isSwitch(step) ? ` A switch from ${run.threads[run.thread[step - 1]]}.` : '';
  const which = runs.length > 1 ? ` (${data.labels[state.run]})` : '';
  by('current').textContent =
    `${number}${which}: ${run.threads[run.thread[step]]} ${verb} “${run.statement(step)}”, ${run.short(step)}.${note}`;
}

function named(run, thread) {
  const node = make('span', 'name', run.threads[thread]);
  node.style.setProperty('--hue', hue(thread));
  return node;
}

function showState(run) {
  const rows = [];
  const now = run.stateAfter(state.step);
  const holders = new Map();
  now.forEach(({ holds }, thread) => holds.forEach((object) => holders.set(object, thread)));
  now.forEach(({ holds, waits }, thread) => {
    const row = make('tr');
    const who = make('td');
    who.append(named(run, thread));
    const waiting = make('td');
    waits.forEach((object) => {
      waiting.append(object === NONE ? 'something unknown' : run.objects[object]);
      const holder = holders.get(object);
      if (holder !== undefined && holder !== thread) waiting.append(', held by ', named(run, holder));
    });
    row.append(who, make('td', '', holds.map((object) => run.objects[object]).join(', ')), waiting);
    rows.push(row);
  });
  if (rows.length === 0) {
    const row = make('tr');
    row.append(make('td', 'none', 'nothing is held'));
    rows.push(row);
  }
  by('state').tBodies[0].replaceChildren(...rows);
}

// The source: the page contains the whole file if it is not too long, otherwise the part around the line.
const LONGEST = 4000;
const shown = { file: NONE, from: 0, lines: [] };

function chooseFile(file, line) {
  const inSight = file === shown.file && line >= shown.from && line < shown.from + shown.lines.length;
  if (inSight) return;
  const all = data.texts[file];
  const from = all.length > LONGEST ? Math.max(0, line - LONGEST / 2) : 0;
  shown.file = file;
  shown.from = from + 1;
  shown.lines = all.slice(from, from + LONGEST).map((content, index) => {
    const node = make('div', 'line');
    node.dataset.line = from + index + 1;
    node.append(make('b', '', from + index + 1), make('span', '', content), make('span', 'tag'));
    return node;
  });
  by('source').replaceChildren(...shown.lines);
  for (const button of by('files').children) {
    button.setAttribute('aria-pressed', String(Number(button.dataset.file) === file));
  }
}

function showSource(run) {
  const [, , file, line] = run.places[run.place[state.step]];
  if (data.sources.length === 0) return;
  if (file !== NONE) chooseFile(file, line);
  else if (shown.file === NONE) chooseFile(0, 1);
  markLines(run);
  const now = by('source').querySelector('.line.now');
  if (now) {
    const box = by('source');
    const top = now.offsetTop - box.offsetTop;
    if (top < box.scrollTop + 20 || top > box.scrollTop + box.clientHeight - 40) {
      box.scrollTop = Math.max(0, top - box.clientHeight / 2);
    }
  }
}

const MOST_TAGS = 6;

// The current line of each visible thread, and especially that of the current step.
function markLines(run) {
  for (const node of shown.lines) {
    if (node.className === 'line') continue;
    node.className = 'line';
    node.lastChild.replaceChildren();
  }
  const current = run.thread[state.step];
  const tags = new Map();
  for (const thread of views[state.run].lanes) {
    const step = run.latest(thread, state.step);
    if (step === NONE) continue;
    const [, , file, line] = run.places[run.place[step]];
    const node = file === shown.file ? shown.lines[line - shown.from] : undefined;
    if (!node) continue;
    if (thread === current) node.classList.add('now');
    else {
      if (!node.classList.contains('here')) node.style.setProperty('--hue', hue(thread));
      node.classList.add('here');
    }
    // A line has no room for all of many threads; that of the current step is always named.
    const before = tags.get(node) || [];
    tags.set(node, thread === current ? [thread, ...before] : [...before, thread]);
  }
  for (const [node, threads] of tags) {
    for (const thread of threads.slice(0, MOST_TAGS)) node.lastChild.append(named(run, thread), ' ');
    const more = threads.length - MOST_TAGS;
    if (more > 0) node.lastChild.append(`and ${more} more`);
  }
}

function filter() {
  // By name, since numbers differ between runs.
  views.forEach((view, index) => {
    const run = runs[index];
    const wanted = (names, name) => (name === '' ? NONE : names.indexOf(name));
    const isMissing = (names, name) => name !== '' && !names.includes(name);
    const [thread, object] = [wanted(run.threads, state.thread), wanted(run.objects, state.object)];
    const isEmpty = isMissing(run.threads, state.thread) || isMissing(run.objects, state.object);
    const steps = isEmpty ? new Int32Array() : run.filtered(thread, object);
    view.show(state.relevant ? steps.filter((step) => relevant[index].has(step)) : steps);
  });
  const [part, all] = [views[0].steps.length, failing.size];
  by('relevant').setAttribute('aria-pressed', String(state.relevant));
  by('count').textContent = part === all ? '' : `${part} of ${all} steps`;
  const view = views[state.run];
  // The step nearest to the previous one.
  if (view.steps.length > 0 && view.rowOf[state.step] === NONE) {
    const later = view.steps.find((step) => step >= state.step);
    go(later === undefined ? view.steps[view.steps.length - 1] : later);
  } else go(state.step);
}

// Moves by some of the visible rows.
function move(rows) {
  const view = views[state.run];
  if (view.steps.length === 0) return;
  const row = Math.max(0, Math.min(view.steps.length - 1, view.rowOf[state.step] + rows));
  go(view.steps[row]);
}

function moveToSwitch(direction) {
  const run = runs[state.run];
  for (let step = state.step + direction; step > 0 && step < run.executed; step += direction) {
    if (run.isSwitch(step) && views[state.run].rowOf[step] !== NONE) return go(step);
  }
}

function setTheme(name) {
  document.documentElement.dataset.theme = name;
  by('theme').textContent = name === 'dark' ? 'Light' : 'Dark';
}

function toggleTheme() {
  setTheme(document.documentElement.dataset.theme === 'dark' ? 'light' : 'dark');
}

function options(select, all, names) {
  const option = (value, text) => {
    const node = make('option', '', text);
    node.value = value;
    return node;
  };
  select.replaceChildren(option('', all), ...names.map((name) => option(name, name)));
}

const dark = window.matchMedia('(prefers-color-scheme: dark)');
setTheme(dark.matches ? 'dark' : 'light');
dark.addEventListener('change', () => setTheme(dark.matches ? 'dark' : 'light'));

by('kind').textContent = data.kind;
by('kind').classList.toggle('passed', data.kind === 'passed');
by('title').textContent = data.title;
by('happened').textContent = data.happened;
by('reason').textContent = data.reason;
if (data.idiom) {
  by('idiom').hidden = false;
  by('idiom').append(data.idiom.text);
  for (const [letter, step] of data.idiom.events) {
    const button = make('button', '', failing.statement(step));
    button.type = 'button';
    button.title = `${failing.threads[failing.thread[step]]}, ${failing.short(step)}`;
    button.prepend(make('span', 'mark', letter));
    button.addEventListener('click', () => go(step, 0));
    by('idiom').append(button);
  }
}
// A long run may have too many objects to list.
const MOST_OBJECTS = 3000;
const touched = new Map();
for (let step = 0; step < failing.size; step++) {
  for (const object of failing.objectsOf(step)) touched.set(object, (touched.get(object) || 0) + 1);
}
const objects = [...touched.keys()].sort((a, b) => touched.get(b) - touched.get(a)).slice(0, MOST_OBJECTS);
const plain = new Intl.Collator('en', { numeric: true });
options(by('by-object'), 'all', [...new Set(objects.map((object) => failing.objects[object]))].sort(plain.compare));
options(by('by-thread'), 'all', views[0].lanes.map((thread) => failing.threads[thread]));
data.texts = data.sources.map(([, text]) => text.replace(/\n$/, '').split('\n'));
if (data.sources.length === 0) {
  by('source').append(make('p', 'none', 'The source was not found when this page was made.'));
}
by('files').append(
  ...data.sources.map(([name], file) => {
    const button = make('button', '', name);
    button.type = 'button';
    button.dataset.file = file;
    button.addEventListener('click', () => {
      chooseFile(file, 1);
      markLines(runs[state.run]);
    });
    return button;
  }),
);

const actions = {
  first: () => move(-Infinity),
  previous: () => move(-1),
  next: () => move(1),
  last: () => move(Infinity),
  'switch-back': () => moveToSwitch(-1),
  'switch-on': () => moveToSwitch(1),
  theme: toggleTheme,
  relevant: () => {
    state.relevant = !state.relevant && data.relevant.length > 0;
    filter();
  },
  all: () => {
    state.relevant = false;
    by('by-thread').value = state.thread = '';
    by('by-object').value = state.object = '';
    filter();
  },
};
for (const [id, action] of Object.entries(actions)) by(id).addEventListener('click', action);
by('by-thread').addEventListener('change', (event) => {
  state.thread = event.target.value;
  filter();
});
by('by-object').addEventListener('change', (event) => {
  state.object = event.target.value;
  filter();
});

const page = () => Math.max(1, Math.floor(views[state.run].box.clientHeight / ROW) - 2);
const keys = {
  ArrowDown: actions.next, ArrowRight: actions.next, j: actions.next,
  ArrowUp: actions.previous, ArrowLeft: actions.previous, k: actions.previous,
  Home: actions.first, End: actions.last,
  PageDown: () => move(page()), PageUp: () => move(-page()),
  '[': actions['switch-back'], ']': actions['switch-on'],
  t: toggleTheme, m: actions.relevant, Escape: actions.all,
};
document.addEventListener('keydown', (event) => {
  const inControl = event.target.closest && event.target.closest('select, input, #source');
  if (inControl || event.ctrlKey || event.altKey || event.metaKey) return;
  const action = keys[event.key];
  if (!action) return;
  event.preventDefault();
  action();
});
window.addEventListener('resize', () => {
  views.forEach((view) => view.resize());
  go(state.step);
});
by('relevant').hidden = data.relevant.length === 0;
go(state.step);
views.forEach((view) => view.resize());
filter();
