import assert from 'node:assert/strict';
import { test } from 'node:test';
import { openAccount } from '../../../../shared-server.ts';
import { askFor, manageKeyOf } from '../manage.ts';

test('what is wrong is named', async () => {
	const service = await openAccount();
	const other = await openAccount();
	const key = await manageKeyOf(service);
	for (const [query, detail] of [
		['', /aid/],
		['?aid=', /aid/],
		[`?aid=${service.aid}&aid=${service.aid}`, /aid must be the token of one account/],
		[`?aid=${service.aid}&limit=5`, /limit is not known here/],
		[`?aid=${other.aid}`, /Invalid account|No account/],
		['?aid=c-a-nobody', /Invalid account|No account/],
	] as const) {
		const answer = await askFor(service, key, `goal${query}`);
		assert.equal(answer.status, 400, query);
		assert.match(await answer.text(), detail, query);
	}
});
