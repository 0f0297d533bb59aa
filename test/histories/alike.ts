import assert from 'node:assert/strict';

/** A number that is compared with a tolerance, because the service rounds it on the way. */
export class About {
	readonly value: number;
	readonly tolerance: number;

	constructor(value: number, tolerance: number) {
		this.value = value;
		this.tolerance = tolerance;
	}
}

/** Compares a value with an expected one, where numbers may be `About` something. */
export function alike(actual: unknown, expected: unknown, what: string): void {
	if (expected instanceof About) {
		const isNear = typeof actual === 'number' && Math.abs(actual - expected.value) <= expected.tolerance;
		assert.ok(isNear, `${what} is ${actual}, but about ${expected.value} is expected`);
	} else if (expected instanceof Map) {
		assert.ok(actual instanceof Map);
		assert.deepEqual([...actual.keys()].sort(), [...expected.keys()].sort(), `the names of ${what}`);
		for (const [name, value] of expected) alike(actual.get(name), value, `${what} of ${name}`);
	} else if (typeof expected === 'object' && expected !== null) {
		assert.ok(typeof actual === 'object' && actual !== null, `${what} is ${actual}`);
		assert.deepEqual(Object.keys(actual).sort(), Object.keys(expected).sort(), `the fields of ${what}`);
		for (const [name, value] of Object.entries(expected))
			alike(actual[name as keyof typeof actual], value, `${what}.${name}`);
	} else assert.equal(actual, expected, what);
}
