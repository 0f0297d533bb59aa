import assert from 'node:assert/strict';
import { suite, type TestContext, test } from 'node:test';
import { hashPassword } from '../../../../src/capabilities/people/access/passwords.ts';
import {
	hashRecoveryCode,
	stepAt,
	totpCode,
} from '../../../../src/capabilities/people/access/second-factor.ts';
import {
	newLoginLink,
	SignIn,
	type SignInOutcome,
} from '../../../../src/capabilities/people/access/sign-in.ts';
import { hashToken } from '../../../../src/capabilities/people/access/tokens.ts';
import { AccessDirectory } from '../../../../src/core/access/directory.ts';
import { dayMs, hourMs, minuteMs } from '../../../../src/core/durations.ts';
import type { ControlStore } from '../../../../src/core/store/control/control-store.ts';
import { eventually } from '../../../eventually.ts';
import { takesLong } from '../../../quick.ts';
import { openStore } from '../../../whole.ts';
import { addAccount, assertRefuses, type Engine } from '../engines.ts';

const visitor = { address: '192.0.2.1', agent: 'Firefox on Linux' };
const password = 'correct horse battery';
const url = 'https://console.example.com';

/** What every engine must do with people, their sessions, and what they did. */
export function peopleContract(engine: Engine): void {
	suite(`people on ${engine.name}`, () => {
		/** Two servers' views of one control database, and a clock that tests move. */
		const start = async (t: TestContext) => {
			const clock = { now: Date.UTC(2026, 10, 21, 10), monotonicMs: 0 };
			const store = await openStore(await engine.installedAddress(t), { now: () => clock.now });
			const directories: AccessDirectory[] = [];
			t.after(async () => {
				// First: a directory looks at the store four times a second.
				for (const directory of directories) await directory.stop();
				await store.close();
			});
			const { control } = store;
			await addAccount(store, 'c-a-one');
			await addAccount(store, 'c-a-two');
			const server = async () => {
				const directory = await AccessDirectory.load(control, (error) => assert.fail(String(error)));
				directories.push(directory);
				const signIn = new SignIn({
					control,
					directory,
					now: () => clock.now,
					monotonicMs: () => clock.monotonicMs,
					// A wrong guess may still be on its way to the audit log when a test ends.
					onError: () => {},
				});
				return { directory, signIn };
			};
			const add = async (email: string) => {
				const person = await control.people.create(email, [{ aid: null, role: 'admin' }]);
				return { ...person, link: linkOf(await newLoginLink(control, person, url)) };
			};
			return { store, control, clock, add, server, ...(await server()) };
		};

		test('a person has roles on accounts or on all, is found by address, and goes with all that is theirs', async (t) => {
			const { control, add } = await start(t);
			const { id } = await add('ada@example.com');
			await control.people.create('bob@example.com', [
				{ aid: 'c-a-two', role: 'viewer' },
				{ aid: 'c-a-one', role: 'analyst' },
			]);
			await assertRefuses(control.people.create('bob@example.com', []), /exists already/);
			await assertRefuses(
				control.people.create('eve@example.com', [{ aid: 'c-a-none', role: 'viewer' }]),
				/There is no account c-a-none/,
			);
			assert.deepEqual(
				(await control.people.list()).map(({ email, grants }) => [email, grants]),
				[
					['ada@example.com', [{ aid: null, role: 'admin' }]],
					[
						'bob@example.com',
						[
							{ aid: 'c-a-one', role: 'analyst' },
							{ aid: 'c-a-two', role: 'viewer' },
						],
					],
				],
			);
			const bob = await control.people.grant('bob@example.com', [{ aid: 'c-a-one', role: 'operator' }]);
			assert.deepEqual(bob.grants[0], { aid: 'c-a-one', role: 'operator' });
			await control.people.grant('bob@example.com', [{ aid: null, role: 'viewer' }]);
			await control.people.grant('bob@example.com', [{ aid: null, role: 'analyst' }]);
			await control.people.revoke('bob@example.com', ['c-a-one', 'c-a-two']);
			assert.deepEqual((await control.people.find('bob@example.com')).grants, [
				{ aid: null, role: 'analyst' },
			]);
			await control.people.setRecoveryCodes(id, ['a', 'b']);
			await control.sessions.begin(id, { hash: 'h', method: 'link', agent: '' });
			await control.people.remove('ada@example.com');
			await assertRefuses(control.people.find('ada@example.com'), /There is no user ada@example\.com/);
			const { user, grant, recovery_code } = await control.content();
			assert.deepEqual([user?.length, grant?.length, recovery_code?.length], [1, 1, 0]);
			assert.deepEqual(await control.sessions.list(), []);
		});

		test('a link signs in once, within fifteen minutes, and takes all others of that person with it', async (t) => {
			const { control, clock, add, signIn } = await start(t);
			const { link, ...person } = await add('ada@example.com');
			const other = linkOf(await newLoginLink(control, person, url));
			assert.equal(await signIn.linkOf(link), 'ada@example.com');
			assert.equal(await signIn.linkOf(link), 'ada@example.com', 'to look at it does not use it up');
			const both = await Promise.all([signIn.withLink(link, visitor), signIn.withLink(link, visitor)]);
			assert.equal(both.filter((outcome) => outcome === 'refused').length, 1);
			assert.equal(await signIn.withLink(other, visitor), 'refused');
			const late = linkOf(await newLoginLink(control, person, url));
			clock.now += 15 * minuteMs;
			assert.equal(await signIn.linkOf(late), undefined);
			assert.equal(await signIn.withLink(late, visitor), 'refused');
			assert.equal(await signIn.withLink('', visitor), 'refused');
		});

		test('only hashes of tokens, links and recovery codes are stored', async (t) => {
			const { store, add, signIn } = await start(t);
			const { link } = await add('ada@example.com');
			const { token } = signedIn(await signIn.withLink(link, visitor));
			const [session] = [...(await store.control.accessSnapshot()).sessions.values()];
			assert.equal(session?.hash, hashToken(token));
			assert.equal(JSON.stringify(await store.control.content()).includes(link), false);
		});

		test('who is signed in on one server is on the other, and out within a second of being removed', async (t) => {
			const { control, add, signIn, server } = await start(t);
			const { link } = await add('ada@example.com');
			const { token } = signedIn(await signIn.withLink(link, visitor));
			const other = (await server()).signIn;
			for (const each of [signIn, other])
				assert.equal((await each.of(token))?.person.email, 'ada@example.com');
			assert.equal(await other.of(`${token}x`), undefined);
			const second = signedIn(await signIn.withLink((await newLink(control)).link, visitor));
			assert.ok(await other.of(second.token), 'a session of this moment is known, too');
			await control.sessions.end('ada@example.com', { id: hashToken(token).slice(0, 16) });
			await eventually('the session has ended', async () => !(await other.of(token)));
			assert.ok(await other.of(second.token));
			await control.people.revoke('ada@example.com', [null]);
			await eventually(
				'the role is gone',
				async () => (await other.of(second.token))?.person.grants.length === 0,
			);
			await control.people.remove('ada@example.com');
			await eventually('the person is gone', async () => !(await other.of(second.token)));
		});

		test('a session ends after 30 days, or 7 without use; what it is used for keeps it', async (t) => {
			const { clock, add, signIn, control } = await start(t);
			const { link } = await add('ada@example.com');
			const begunAtMs = clock.now;
			const { token } = signedIn(await signIn.withLink(link, visitor));
			for (let days = 6; days < 30; days += 6) {
				clock.now = begunAtMs + days * dayMs;
				assert.ok(await signIn.of(token), `${days} days`);
				await signIn.of(`unknown ${days}`);
			}
			clock.now = begunAtMs + 30 * dayMs;
			assert.equal(await signIn.of(token), undefined);
			const second = signedIn(await signIn.withLink((await newLink(control)).link, visitor));
			clock.now += 7 * dayMs - 1;
			assert.equal((await control.sessions.list('ada@example.com')).length, 1);
			clock.now += 1;
			assert.equal(await signIn.of(second.token), undefined);
			assert.deepEqual(await control.sessions.list('ada@example.com'), []);
		});

		test('guesses at a password are limited by name and by address', {
			// The hashes cost the most, and the limits are in memory.
			skip: !engine.isFolder && takesLong,
		}, async (t) => {
			const { control, clock, add, signIn } = await start(t);
			const { id } = await add('ada@example.com');
			await control.people.setPassword(id, await hashPassword(password));
			const attempt = (email: string, address: string, guess = 'a wrong password') =>
				signIn.withPassword(email, guess, { ...visitor, address });
			assert.equal(await attempt('eve@example.com', '192.0.2.9', password), 'refused');
			assert.ok(signedIn(await attempt('ada@example.com', '192.0.2.9', password)).token);
			for (let count = 1; count < 10; count++)
				assert.equal(await attempt('ada@example.com', `192.0.2.${count}`), 'refused');
			const limited = await attempt('ada@example.com', '192.0.2.77', password);
			assert.ok(typeof limited === 'object' && 'retryAfterMs' in limited && limited.retryAfterMs <= minuteMs);
			clock.monotonicMs += minuteMs;
			assert.ok(signedIn(await attempt('ada@example.com', '192.0.2.77', password)).token);
			for (let count = 0; count < 30; count++)
				assert.equal(await attempt(`u${count}@example.com`, '2001:db8::1'), 'refused');
			assert.notEqual(await attempt('u30@example.com', '2001:db8::2'), 'refused', 'of the same network');
			assert.equal(await attempt('u30@example.com', '2001:db8:1::1'), 'refused');
		});

		test('a second factor is asked for after password and link, and each code is good once', async (t) => {
			const { control, clock, add, signIn, server } = await start(t);
			const { id, link } = await add('ada@example.com');
			const secret = 'GEZDGNBVGY3TQOJQGEZDGNBVGY3TQOJQ';
			const code = () => totpCode(Buffer.from('12345678901234567890'), stepAt(clock.now));
			await control.people.setPassword(id, await hashPassword(password));
			await control.people.offerSecondFactor(id, secret);
			assert.ok(signedIn(await signIn.withLink(link, visitor)), 'an unproved secret is not asked for');
			assert.equal(await signIn.guessCode('ada@example.com', code(), visitor), true);
			await control.people.offerSecondFactor(id, 'AAAA');
			assert.equal((await control.people.credentials('ada@example.com'))?.totpSecret, secret);

			const first = await signIn.withPassword('ada@example.com', password, visitor);
			const pending = secondFactorOf(first);
			assert.equal(await signIn.linkOf(pending), undefined, 'it is no link');
			assert.equal(await signIn.withLink(pending, visitor), 'refused');
			assert.deepEqual(
				await signIn.withCode(pending, code(), visitor),
				{ secondFactor: pending },
				'used before',
			);
			clock.now += 30_000;
			const other = (await server()).signIn;
			const [one, two] = await Promise.all([
				signIn.withCode(pending, code(), visitor),
				other.withCode(pending, code(), visitor),
			]);
			assert.equal([one, two].filter((each) => typeof each === 'object' && 'token' in each).length, 1);
			assert.equal(await signIn.withCode(pending, code(), visitor), 'refused', 'signed in with it already');

			await control.people.setRecoveryCodes(id, [hashRecoveryCode('abcd-efgh-2345-ijkl')]);
			const again = secondFactorOf(await signIn.withLink((await newLink(control)).link, visitor));
			assert.ok(signedIn(await signIn.withCode(again, 'ABCD EFGH 2345 IJKL', visitor)).token);
			assert.equal(await control.people.recoveryCodes(id), 0);
			const third = secondFactorOf(await signIn.withPassword('ada@example.com', password, visitor));
			assert.deepEqual(await signIn.withCode(third, 'abcd-efgh-2345-ijkl', visitor), { secondFactor: third });
			clock.now += 5 * minuteMs;
			assert.equal(await signIn.withCode(third, code(), visitor), 'refused', 'five minutes have passed');
			await control.people.removeSecondFactor(id);
			assert.ok(signedIn(await signIn.withPassword('ada@example.com', password, visitor)).token);
		});

		test('guesses at codes are limited', async (t) => {
			const { control, add, signIn } = await start(t);
			const { id, link } = await add('ada@example.com');
			await control.people.offerSecondFactor(id, 'GEZDGNBVGY3TQOJQGEZDGNBVGY3TQOJQ');
			assert.equal(await control.people.useStep(id, 1), true);
			assert.equal(await control.people.useStep(id, 1), false);
			const pending = secondFactorOf(await signIn.withLink(link, visitor));
			for (let count = 0; count < 10; count++)
				assert.deepEqual(await signIn.withCode(pending, '000000', visitor), { secondFactor: pending });
			const limited = await signIn.withCode(pending, '000000', visitor);
			assert.ok(typeof limited === 'object' && 'retryAfterMs' in limited);
		});

		test('wrong guesses are in the audit log, so many in an hour, and none at whom there is not', async (t) => {
			const { control, clock, add, signIn } = await start(t);
			const { id } = await add('ada@example.com');
			await control.people.offerSecondFactor(id, 'GEZDGNBVGY3TQOJQGEZDGNBVGY3TQOJQ');
			const guess = async (email: string) => {
				await signIn.guessCode(email, '000000', visitor);
				clock.monotonicMs += minuteMs;
			};
			const noted = async (count: number) => {
				const list = () => control.audit.list({ limit: 100 });
				await eventually('noted', async () => (await list()).length >= count);
				return (await list()).map(({ who, action, about }) => [who, action, about].join(', '));
			};
			const entry = 'somebody, wrong code, ada@example.com';
			for (let count = 0; count < 20; count++) {
				await guess('eve@example.com');
				await guess('ada@example.com');
			}
			assert.deepEqual(await noted(5), Array(5).fill(entry));
			clock.monotonicMs += hourMs;
			await guess('ada@example.com');
			assert.deepEqual(await noted(6), Array(6).fill(entry));
			await signIn.guessPassword('ada@example.com', 'a wrong password', visitor);
			assert.equal((await noted(7))[0], 'somebody, wrong password, ada@example.com');
		});

		test('an identity belongs to one person, and one person has one', async (t) => {
			const { control, add } = await start(t);
			const [ada, bob] = [await add('ada@example.com'), await add('bob@example.com')];
			const identity = { issuer: 'https://id.example.com', subject: '42' };
			assert.equal(await control.people.withIdentity(identity), undefined);
			assert.equal(await control.people.setIdentity(ada.id, identity), true);
			assert.equal(await control.people.setIdentity(ada.id, identity), true);
			assert.equal(await control.people.setIdentity(bob.id, identity), false);
			assert.equal(await control.people.setIdentity(ada.id, { ...identity, subject: '43' }), false);
			assert.equal((await control.people.withIdentity(identity))?.id, ada.id);
			await control.people.removeIdentity(ada.id);
			assert.equal(await control.people.setIdentity(bob.id, identity), true);
		});

		test('the audit log says who did what, the latest first, and forgets erased visitors and old entries', async (t) => {
			const { store, control, clock } = await start(t);
			const { id } = await store.control.account('c-a-one');
			await control.audit.add({ who: 'ada@example.com', action: 'key issued', aid: 'c-a-two', about: 'k_1' });
			clock.now += hourMs;
			await control.audit.add({
				who: 'ada@example.com',
				action: 'visitor viewed',
				aid: 'c-a-one',
				about: 'v',
			});
			await control.audit.add({
				who: 'bob@example.com',
				action: 'visitor viewed',
				aid: 'c-a-two',
				about: 'v',
			});
			const list = async (filter = {}) =>
				(await control.audit.list({ limit: 10, ...filter })).map(({ who, aid, about }) => [who, aid, about]);
			assert.deepEqual(await list({ about: 'v' }), [
				['bob@example.com', 'c-a-two', 'v'],
				['ada@example.com', 'c-a-one', 'v'],
			]);
			assert.equal((await list({ who: 'ada@example.com' })).length, 2);
			assert.equal((await list({ aid: 'c-a-two' })).length, 2);
			assert.equal((await list({ limit: 1 })).length, 1);
			await control.audit.forget(id, 'v');
			assert.deepEqual(await list({ aid: 'c-a-one' }), [['ada@example.com', 'c-a-one', null]]);
			assert.equal((await list({ about: 'v' })).length, 1);
			clock.now += 401 * dayMs;
			await control.audit.add({ who: 'bob@example.com', action: 'signed in by link' });
			assert.equal((await list()).length, 1);
		});
	});
}

function linkOf({ link }: { link: string }): string {
	return new URL(link).searchParams.get('link') as string;
}

async function newLink(control: ControlStore): Promise<{ link: string }> {
	return { link: linkOf(await newLoginLink(control, await control.people.find('ada@example.com'), url)) };
}

function signedIn(outcome: SignInOutcome): { token: string } {
	assert.ok(typeof outcome === 'object' && 'token' in outcome, JSON.stringify(outcome));
	return outcome;
}

function secondFactorOf(outcome: SignInOutcome): string {
	assert.ok(typeof outcome === 'object' && 'secondFactor' in outcome, JSON.stringify(outcome));
	return outcome.secondFactor;
}
