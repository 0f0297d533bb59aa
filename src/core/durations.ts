/** Durations in milliseconds. A day is 24 hours, whatever the calendar says. */
export const minuteMs = 60_000;
/** The offset of every time zone is so many of them. */
export const quarterHourMs = 15 * minuteMs;
export const hourMs = 60 * minuteMs;
export const dayMs = 24 * hourMs;
