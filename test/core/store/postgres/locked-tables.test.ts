import assert from 'node:assert/strict';
import { test } from 'node:test';
import { caskadeWithin } from '../../../process.ts';
import { addAccount, openFor } from '../engines.ts';
import { installedPostgresDatabase } from '../postgres-server.ts';
import { sessionOn } from './service.ts';

test('an account whose tables somebody keeps locked is told by doctor, with who it is, and looked at no further', async (t) => {
	const address = await installedPostgresDatabase();
	const store = await openFor(t, address);
	for (const name of ['acme', 'globex']) await addAccount(store, `c-a-${name}-uk`, name);
	const forgotten = await sessionOn(t, address);
	await forgotten.query(
		"SET application_name TO 'a shell'; BEGIN; LOCK TABLE caskade_account_1.subscription_event",
	);
	const { stdout } = await caskadeWithin(['doctor', '--database', address]);
	assert.match(
		stdout,
		/^CARE +tables of caskade_account_1: session \d+ of \w+ \(a shell, idle in transaction\) keeps its tables locked: wait until it is done, or SELECT pg_terminate_backend\(\d+\)$/m,
	);
	assert.match(stdout, /^ok +account c-a-globex-uk: schema \d+$/m);
	await forgotten.query('ROLLBACK');
	const { stdout: later } = await caskadeWithin(['doctor', '--database', address]);
	assert.match(later, /^ok +account c-a-acme-uk: schema \d+$/m);
	assert.doesNotMatch(later, /tables of/);
});
