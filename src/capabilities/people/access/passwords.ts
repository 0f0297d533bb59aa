import { type Argon2Parameters, argon2, randomBytes, timingSafeEqual } from 'node:crypto';
import { promisify } from 'node:util';
import { OperatorError, QueueFullError } from '../../../core/errors.ts';

const derive = promisify(argon2);

/** What OWASP's Password Storage Cheat Sheet asks of argon2id at least: 19 MiB, two passes, one lane. */
const cost = { memory: 19 * 1024, passes: 2, parallelism: 1 };
const tagBytes = 32;
const saltBytes = 16;
/** Each takes 19 MiB and some 30 ms of a core, which uploads need too. */
const maxAtOnce = 2;
/** About three seconds' worth. */
const maxWaiting = 100;

/** RFC 8265 leaves the length to the service; longer ones only cost time. */
const shortest = 12;
const longest = 256;

/**
 * Hashes a password in the PHC format, `$argon2id$v=19$m=19456,t=2,p=1$SALT$HASH`.
 * @throws OperatorError where it is too short or too long; QueueFullError where too many wait
 */
export async function hashPassword(password: string): Promise<string> {
	if ([...password].length < shortest || password.length > longest)
		throw new OperatorError(
			`A password has ${shortest} to ${longest} characters; four words are easy to remember.`,
		);
	const salt = randomBytes(saltBytes);
	const tag = await inTurn(() => tagOf(password, salt, cost));
	const { memory, passes, parallelism } = cost;
	return `$argon2id$v=19$m=${memory},t=${passes},p=${parallelism}$${base64(salt)}$${base64(tag)}`;
}

/** As nobody has this one, and to compare with it takes as long as with another, it stands for whoever is unknown. */
const nobodys = `$argon2id$v=19$m=${cost.memory},t=${cost.passes},p=1$${base64(randomBytes(saltBytes))}$${base64(randomBytes(tagBytes))}`;

/**
 * @param stored in the PHC format; `null` where there is no such person, or they have no password
 * @throws QueueFullError where too many wait
 */
export async function isPassword(password: string, stored: string | null): Promise<boolean> {
	const [, m, t, p, salt = '', tag = ''] =
		/^\$argon2id\$v=19\$m=(\d+),t=(\d+),p=(\d+)\$([\w+/]+)\$([\w+/]+)$/.exec(stored ?? nobodys) ?? [];
	const expected = Buffer.from(tag, 'base64');
	if (password.length > longest || expected.length !== tagBytes) return false;
	const parameters = { memory: Number(m), passes: Number(t), parallelism: Number(p) };
	const found = await inTurn(() => tagOf(password, Buffer.from(salt, 'base64'), parameters));
	return timingSafeEqual(found, expected);
}

function tagOf(
	password: string,
	nonce: Buffer,
	parameters: Pick<Argon2Parameters, 'memory' | 'passes' | 'parallelism'>,
): Promise<Buffer> {
	// One way to write what looks the same, whatever keyboard it was typed on.
	const message = password.normalize('NFKC');
	return derive('argon2id', { ...parameters, message, nonce, tagLength: tagBytes }) as Promise<Buffer>;
}

/** The PHC format leaves out the padding. */
function base64(bytes: Buffer): string {
	return bytes.toString('base64').replaceAll('=', '');
}

let running = 0;
const waiting: (() => void)[] = [];

async function inTurn<Result>(job: () => Promise<Result>): Promise<Result> {
	if (waiting.length >= maxWaiting) throw new QueueFullError('too many passwords wait to be checked');
	if (running >= maxAtOnce) await new Promise<void>((resolve) => waiting.push(resolve));
	else running++;
	try {
		return await job();
	} finally {
		// Whoever waits takes this place.
		const next = waiting.shift();
		if (next) next();
		else running--;
	}
}
