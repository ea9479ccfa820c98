/** Jobs that come by themselves, whichever worker is first; the queue makes each happen once. */
export const crontab = "17 * * * * keys.sweep";
