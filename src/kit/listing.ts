import type { Account } from '../core/store/control/control-store.ts';
import type { OpenStore } from '../core/store/store.ts';

/** What an account has of a noun. The command `list` and `GET /manage/NOUN` are made of it. */
export interface Listing<Row extends object = object> {
	readonly noun: string;
	/** What the list of commands says of it. */
	readonly summary: string;
	/** What the command says where there is nothing. */
	empty(account: Account): string;
	/** Rows never have a secret. */
	read(store: OpenStore, account: Account): Promise<readonly Row[]>;
}

export const listing = <Row extends object>(declared: Listing<Row>): Listing<Row> => declared;
