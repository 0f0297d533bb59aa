import type { AccessDirectory } from '../../core/access/directory.ts';
import type { ControlStore } from '../../core/store/control/control-store.ts';
import type { Html } from '../format/html.ts';
import type { OpenSession, Person } from '../person.ts';
import type { ConsoleAnswer, ConsoleRequest, SsoSettings } from './exchange.ts';
import type { NamedView } from './links.ts';
import type { ConsolePage, EntranceFacts, PageRequest } from './page.ts';

/** What the console must know to let people in. */
export interface EntranceSettings {
	/** Where people reach the console, without a path. */
	readonly consoleUrl: string;
	readonly sso?: SsoSettings | undefined;
	/** The tag as pages load it; undefined where only the operator knows at which address browsers reach the service. */
	readonly tagUrl?: string | undefined;
}

export interface EntranceOptions extends EntranceSettings {
	readonly control: ControlStore;
	readonly directory: AccessDirectory;
	/** Milliseconds since 1970. */
	readonly now: () => number;
	readonly monotonicMs: () => number;
	/** Something failed that is no fault of the request. */
	readonly onError: (error: unknown, path: string) => void;
}

/** Lets people into the console, and knows who asks. */
export interface Entrance {
	/** Answers what is for everybody; undefined for all other paths. */
	answer(request: ConsoleRequest): Promise<ConsoleAnswer | undefined>;
	/** Who asks; undefined where nobody has signed in. */
	signedIn(request: ConsoleRequest): Promise<OpenSession | undefined>;
	/** Leads to the sign-in. @param isShown whether the path can be asked for, not only sent to */
	toSignIn(request: ConsoleRequest, isShown: boolean): ConsoleAnswer;
	/** Whether a form is from a page of the console that this person was shown. */
	isOwnForm(request: ConsoleRequest, form: URLSearchParams, open: OpenSession): boolean;
	/** What it adds to a request that a page sees. */
	known(request: ConsoleRequest, open: OpenSession): EntranceFacts;
	/** The one place that demands a proof. @returns undefined where the act may be done; else the page that asks */
	missingProof(asked: PageRequest, page: ConsolePage, act: string): Promise<Html | undefined>;
	/** The account that the person has opened last. */
	lastAid(person: Person): Promise<string | null>;
	rememberAid(person: Person, aid: string): Promise<void>;
	/** Those that the person has named, or somebody for all. */
	views(accountId: number, person: Person): Promise<readonly NamedView[]>;
}

export type MakeEntrance = (options: EntranceOptions) => Entrance;
