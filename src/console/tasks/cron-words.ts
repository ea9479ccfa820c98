const days = ["Sunday", "Monday", "Tuesday", "Wednesday", "Thursday", "Friday", "Saturday"] as const;
const shortDays = days.map((day) => day.slice(0, 3).toUpperCase());

/** Says a usual schedule by the calendar in words, such as `weekdays at 08:00`; null for one that is better read as it is. */
export function cronWords(expression: string): string | null {
  const fields = expression.trim().split(/\s+/);
  const [minute = "", hour = "", day = "", month = "", weekday = ""] = fields;
  if (fields.length !== 5 || month !== "*") return null;
  const every = /^\*\/(\d+)$/.exec(minute)?.[1];
  if (every !== undefined)
    return [hour, day, weekday].every((field) => field === "*") ? `every ${every} minutes` : null;
  if (!/^\d{1,2}$/.test(minute)) return null;
  const time = /^\d{1,2}$/.test(hour) ? `at ${hour.padStart(2, "0")}:${minute.padStart(2, "0")}` : null;
  if (time === null)
    return hour === "*" && day === "*" && weekday === "*" ? `every hour at :${minute.padStart(2, "0")}` : null;
  if (day !== "*") return /^\d{1,2}$/.test(day) && weekday === "*" ? `day ${day} of each month ${time}` : null;
  const when = dayWords(weekday);
  return when === null ? null : `${when} ${time}`;
}

function dayWords(weekday: string): string | null {
  const name = weekday.toUpperCase();
  if (name === "*") return "daily";
  if (name === "MON-FRI" || name === "1-5") return "weekdays";
  if (name === "SAT,SUN" || name === "SUN,SAT" || name === "0,6" || name === "6,0") return "weekends";
  const places = name.split(",").map((one) => (/^[0-7]$/.test(one) ? Number(one) % 7 : shortDays.indexOf(one)));
  return places.every((place) => place >= 0) ? places.map((place) => `${days[place]}s`).join(", ") : null;
}
