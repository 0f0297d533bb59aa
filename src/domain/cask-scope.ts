/** Whose data a cask opens: all of a visitor's, or one visit's. */
export type CaskScope = 'vid' | 'sid';

const subjectShape = /^[0-9a-f]{32}$/;

/** 32 lower-case hex digits, as a `vid` and a `sid` are. */
export function isSubject(value: unknown): value is string {
	return typeof value === 'string' && subjectShape.test(value);
}
