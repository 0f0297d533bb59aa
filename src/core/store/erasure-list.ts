import {
	accessSync,
	closeSync,
	constants,
	existsSync,
	fstatSync,
	fsyncSync,
	openSync,
	readFileSync,
	readSync,
	writeSync,
} from 'node:fs';
import { dirname } from 'node:path';
import { customerMarkOf, markOf, secretNameOf } from '../domain/derived-vid.ts';
import { OperatorError } from '../errors.ts';
import { isoTime } from '../format/iso-time.ts';
import type { MarkingSecret } from './control/account-store.ts';
import { sync } from './sync.ts';

/** One visitor, or every visitor who has shown a customer id. */
export type Erasee = { readonly vid: string } | { readonly cid: string };

/** What the list has of an erasure: nobody learns from it who was erased. */
export interface ListedErasure {
	readonly atMs: number;
	readonly aid: string;
	readonly kind: 'visitor' | 'customer';
	/** See `markOf`. */
	readonly mark: string;
	/** Of the secret that the mark was made with, see `secretNameOf`. */
	readonly secretName: string;
}

/**
 * The list of everything that was erased, in a file that no restore of a backup replaces: with it, what a backup brings back
 * is erased again. A line of JSON for each erasure, appended before it begins. See `docs/decisions/0023`.
 */
export class ErasureList {
	/** undefined: none is kept. */
	readonly path: string | undefined;

	constructor(path: string | undefined) {
		this.path = path;
	}

	/**
	 * Appends an erasure, durably. To be called before anything is erased. Twice is no error.
	 * @throws OperatorError where it cannot be written: nothing may be erased then
	 */
	append({ aid, secret }: MarkingSecret, erasee: Erasee, atMs: number): void {
		if (this.path === undefined) return;
		const line = JSON.stringify({
			at: isoTime(atMs),
			aid,
			...('vid' in erasee
				? { visitor: markOf(secret, erasee.vid) }
				: { customer: customerMarkOf(secret, erasee.cid) }),
			secret: secretNameOf(secret),
		});
		try {
			appendLine(this.path, line);
		} catch (error) {
			const { code = 'unknown' } = error as NodeJS.ErrnoException;
			throw new OperatorError(
				`The list of erasures cannot be written (${code}), so nothing was erased: a restore of a backup would bring it back, and nobody would know. 'caskade doctor' names the file; see to it, and erase again.`,
				{ cause: error },
			);
		}
	}

	/** Why it cannot be written, if it cannot. Writes nothing. */
	problem(): string | undefined {
		if (this.path === undefined) return undefined;
		try {
			accessSync(existsSync(this.path) ? this.path : dirname(this.path), constants.W_OK);
			return undefined;
		} catch (error) {
			return (error as NodeJS.ErrnoException).code;
		}
	}

	/** All erasures, the earliest first, and the numbers of lines that are none. A file that does not exist is empty. */
	read(): { readonly erasures: readonly ListedErasure[]; readonly unreadable: readonly number[] } {
		const erasures: ListedErasure[] = [];
		const unreadable: number[] = [];
		if (this.path === undefined || !existsSync(this.path)) return { erasures, unreadable };
		for (const [index, line] of readFileSync(this.path, 'utf8').split('\n').entries()) {
			if (line === '') continue;
			const erasure = erasureIn(line);
			if (erasure) erasures.push(erasure);
			else unreadable.push(index + 1);
		}
		erasures.sort((one, other) => one.atMs - other.atMs);
		return { erasures, unreadable };
	}
}

function erasureIn(line: string): ListedErasure | undefined {
	try {
		const { at, aid, visitor, customer, secret } = JSON.parse(line);
		const [atMs, mark] = [Date.parse(at), visitor ?? customer];
		if (Number.isNaN(atMs) || typeof aid !== 'string' || typeof mark !== 'string') return undefined;
		return {
			atMs,
			aid,
			kind: visitor === undefined ? 'customer' : 'visitor',
			mark,
			secretName: String(secret),
		};
	} catch {
		return undefined;
	}
}

/** In one piece, so that processes may append at the same time. A line that another could only begin is ended first. */
function appendLine(path: string, line: string): void {
	const isNew = !existsSync(path);
	const descriptor = openSync(path, 'a+', 0o600);
	try {
		const { size } = fstatSync(descriptor);
		const last = Buffer.alloc(1);
		if (size > 0) readSync(descriptor, last, 0, 1, size - 1);
		const text = Buffer.from(`${size > 0 && last[0] !== 0x0a ? '\n' : ''}${line}\n`);
		if (writeSync(descriptor, text) !== text.length)
			throw Object.assign(new Error('the line was cut off'), { code: 'ENOSPC' });
		fsyncSync(descriptor);
	} finally {
		closeSync(descriptor);
	}
	if (isNew) sync(dirname(path));
}
