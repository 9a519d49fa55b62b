'use strict';
// The data of a run. Columns of numbers come from the report; nothing here accesses the DOM.

const NONE = -1;

class Run {
  constructor(data) {
    Object.assign(this, data);
    this.size = this.thread.length;
    this.answers = new Map(data.answers);
    this.values = new Map(data.values);
    // For each step its number among the steps of its thread, and for each thread its steps.
    this.nth = new Int32Array(this.size);
    this.stepsOf = this.threads.map(() => []);
    for (let step = 0; step < this.size; step++) {
      const own = this.stepsOf[this.thread[step]];
      this.nth[step] = own.length;
      own.push(step);
    }
  }

  isSwitch(step) {
    return step > 0 && step < this.executed && this.thread[step] !== this.thread[step - 1];
  }

  // An object's number is doubled, plus one if it is written.
  objectsOf(step) {
    return [this.first[step], this.second[step]].filter((touch) => touch !== NONE).map((touch) => touch >> 1);
  }

  statement(step) {
    const [, , , , statement] = this.places[this.place[step]];
    // Variables with the values read and written, if known. Objects of Rust tests are named by their number
    // and creation location.
    const values = this.values.get(step)?.map(([name, value]) => `${name} ${value}`.trimEnd());
    const names = this.objectsOf(step).map((object) => this.objects[object].split(' made at ')[0]);
    // A variable of more than eight bytes is several objects.
    const objects = values || [...new Set(names)];
    let text = statement;
    if (text && values) {
      const more = values.filter((value) => value !== text);
      if (more.length > 0) text += ` (${more.join(', ')})`;
    } else if (text) {
      // Adds the element of an array.
      for (const name of objects) if (name.endsWith(']') && !text.includes(name)) text += ` (${name})`;
    } else {
      text = [this.verbs[this.verb[step]], objects.join(', ')].filter(Boolean).join(' ');
    }
    const answer = this.answers.get(step);
    return answer === undefined ? text : text + ' → ' + answer;
  }

  // The number of letters at the end of a statement with the last value read or written, including the space
  // before.
  valueLength(step) {
    const [name, value] = this.values.get(step)?.at(-1) || ['', ''];
    const [, , , , statement] = this.places[this.place[step]];
    // Next to a source statement the variable is included, too, in brackets.
    const isBeside = statement && this.statement(step).endsWith(`${name} ${value})`);
    if (!value) return 0;
    return (isBeside ? name.length + 3 : 0) + value.length + 1;
  }

  short(step) {
    return this.places[this.place[step]][1];
  }

  // The last step of a thread up to `step`, or NONE.
  latest(thread, step) {
    const own = this.stepsOf[thread];
    let low = 0;
    let high = own.length;
    while (low < high) {
      const middle = (low + high) >> 1;
      if (own[middle] <= step) low = middle + 1;
      else high = middle;
    }
    return low === 0 ? NONE : own[low - 1];
  }

  // The step of `other` that is the same step of the same thread at the same location, or NONE. Numbers may
  // differ between runs, names do not.
  twin(step, other) {
    const thread = other.threads.indexOf(this.threads[this.thread[step]]);
    const own = thread === NONE ? [] : other.stepsOf[thread];
    const found = own[this.nth[step]];
    const text = (run, at) => run.places[run.place[at]][0];
    return found === undefined || text(this, step) !== text(other, found) ? NONE : found;
  }

  // For each thread, the locks it holds and the object it waits for after a step.
  stateAfter(step) {
    const state = new Map();
    const collect = (spans, which) => {
      for (let at = 0; at < spans.length; at += 4) {
        if (spans[at + 2] <= step && step < spans[at + 3]) {
          const thread = spans[at];
          if (!state.has(thread)) state.set(thread, { holds: [], waits: [] });
          state.get(thread)[which].push(spans[at + 1]);
        }
      }
    };
    collect(this.holds, 'holds');
    collect(this.waits, 'waits');
    return new Map([...state].sort((a, b) => a[0] - b[0]));
  }

  // The steps that pass the filter, NONE for no filter.
  filtered(thread, object) {
    const steps = [];
    for (let step = 0; step < this.size; step++) {
      const isIn = object === NONE || this.first[step] >> 1 === object || this.second[step] >> 1 === object;
      if (isIn && (thread === NONE || this.thread[step] === thread)) steps.push(step);
    }
    return Int32Array.from(steps);
  }
}

function hue(thread) {
  return Math.round(205 + thread * 137.5) % 360;
}
