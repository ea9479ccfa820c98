/** Of the workers that may, about so many react at once to what is announced to all; the chance that none of many does is below 2 %. */
export const chosenAtOnce = 4;
/**
 * Of the workers that have room, so many listen for announced jobs: the oldest. Postgres wakes every connection that
 * listens for anything with each announcement, in a transaction of its own. The others look once a second,
 * each at its own moment.
 */
export const listenersMax = 8;
/** For each worker that may react, those that are not chosen wait this long, so that many of them do not ask more often than a few. */
const lateMsPerWorker = 10;
/** They wait no longer than this. */
const lateMsMax = 500;

/**
 * Returns whether what has this id falls to the worker with this place among `workers`, counted from 0. All
 * workers that know the same of each other answer so that it falls to one.
 */
export function fallsTo(id: string, { place, workers }: { readonly place: number; readonly workers: number }): boolean {
  return Number.parseInt(id.slice(-4), 36) % Math.max(1, workers) === place;
}

/** Draws whether this worker is among those that react at once; `workers` is how many may. */
export function isChosen(workers: number): boolean {
  return Math.random() * workers < chosenAtOnce;
}

/** Returns after how many milliseconds a worker that is not chosen reacts. */
export function lateMs(workers: number): number {
  return Math.min(lateMsMax, lateMsPerWorker * workers) * (0.5 + Math.random());
}
