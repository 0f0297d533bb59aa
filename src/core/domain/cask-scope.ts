/** What a cask gives access to: all data of a visitor, or of one visit. */
export type CaskScope = 'vid' | 'sid';

/** Whether a model scores visitors or single visits, or says by how much being treated raises the scores of visitors. */
export type ModelScope = CaskScope | 'lift';

const subjectShape = /^[0-9a-f]{32}$/;

/** Whether the value has the form of a `vid` or `sid`: 32 lower-case hex digits. */
export function isSubject(value: unknown): value is string {
	return typeof value === 'string' && subjectShape.test(value);
}
