import type { Steps } from './steps.ts';

/** What names of visitors are hashed with in an account; `fresh` becomes it where there is none. */
export function* importSecret(fresh: string): Steps<string> {
	const select = { sql: 'SELECT secret FROM @import_secret /* import secret */' };
	const [known = []] = yield [select];
	if (known[0]) return String(known[0].secret);
	yield [
		{
			sql: 'INSERT INTO @import_secret (id, secret) VALUES (1, ?) ON CONFLICT (id) DO NOTHING /* import secret */',
			values: [fresh],
		},
	];
	const [[row] = []] = yield [select];
	return String(row?.secret);
}
