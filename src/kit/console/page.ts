import type { AccessDirectory } from '../../core/access/directory.ts';
import { OperatorError } from '../../core/errors.ts';
import type { KnownAccount } from '../../core/store/control/control-store.ts';
import type { OpenStore } from '../../core/store/store.ts';
import type { Act, ActAccount, AnyAct, Demand, Fields, GivenFields } from '../act.ts';
import type { Html, HtmlValue } from '../format/html.ts';
import type { ComputeJobs } from '../jobs/compute-jobs.ts';
import type { JobOptions } from '../jobs/run-job.ts';
import type { OpenSession, Right } from '../person.ts';
import type { Calendar } from '../reports/calendar.ts';
import type { DayNote } from '../reports/day-notes.ts';
import type { Report } from '../reports/report.ts';
import type { ReportQuery } from '../reports/report-query.ts';
import type { ConsoleAnswer, ConsoleRequest } from './exchange.ts';
import type { View } from './view.ts';

/** A page of the console. Its address is its state: everything that it shows follows from the path and the query. */
export interface ConsolePage {
	/** Under `/console/`; `:aid` is an account, other names are parts of any content. */
	readonly path: string;
	readonly title: string;
	/** What it takes to see it; `null` for everybody who has signed in. */
	readonly right: Right | null;
	/** What the menu calls it; left out where it is not there. */
	readonly menu?: string;
	/** Its place there: lower numbers come first. */
	readonly place?: number;
	/** Whether its parts are shown anew while somebody looks at it, without a word in the audit log. */
	readonly isLive?: boolean;
	/** Whether it takes a period and filters. */
	readonly takesView?: boolean;
	get?(asked: PageRequest): Promise<PageAnswer>;
	/** What its forms can do, by their field `action`. */
	readonly actions?: Actions<PageRequest>;
	/** What is taken by actions that are no acts (a proof, unless it says otherwise), and to look at it (`get`: nothing). */
	readonly demands?: Readonly<Record<string, Demand>>;
	/** What is asked before an action that cannot be undone; undefined where that one can. */
	readonly questions?: Questions<PageRequest>;
}

/** What is unfinished is shown, and asked for again; of what is not there, the page says so with status 404. */
export type PageAnswer = Html | ConsoleAnswer | { readonly unfinished: Html } | { readonly missing: Html };

/**
 * Changes something, and leads to a page, back to its own where it names none, or shows once what cannot be seen again.
 * Markup instead says what is wrong with the form; it is shown with status 400.
 */
export type Action<Of> = ((asked: Of) => Promise<Html | ConsoleAnswer | Once | undefined>) & {
	/** The act that it does, or one that takes as much. */
	readonly of?: AnyAct;
};
export type Actions<Of> = Readonly<Record<string, Action<Of>>>;

/** What an action of a page takes, or to look at it: `get`. */
export function demandOf({ actions, demands }: ConsolePage, name: string): Demand {
	if (name === 'get') return demands?.get ?? 'session';
	return actions?.[name]?.of?.demand ?? demands?.[name] ?? 'proof';
}

/** A page that cannot be seen again. */
export interface Once {
	readonly once: Html;
	readonly headers?: ConsoleAnswer['headers'];
}

/** What an act that cannot be undone would do, and what somebody who means it types. */
export interface Question {
	readonly what: Html;
	/** Whom or what it is about; left out where a button is enough. */
	readonly name?: string;
}

export type Questions<Of> = Readonly<Record<string, (asked: Of) => Promise<Question | undefined>>>;

type BackgroundJob<Type extends keyof ComputeJobs> = Omit<ComputeJobs[Type]['job'], 'isInBackground'> & {
	readonly type: Type;
};

/** Does a job on a thread, as `compute` does, at the place of the console. */
export type ComputeInBackground = <Type extends keyof ComputeJobs>(
	job: BackgroundJob<Type>,
	options?: JobOptions<ComputeJobs[Type]['progress']>,
) => Promise<ComputeJobs[Type]['result']>;

/** A page of an account. */
export interface AccountPage extends Omit<ConsolePage, 'actions' | 'questions'> {
	get?(asked: AccountRequest): Promise<PageAnswer>;
	readonly actions?: Actions<AccountRequest>;
	readonly questions?: Questions<AccountRequest>;
}

/** What whoever lets people in knows of who asks. */
export interface EntranceFacts {
	/** Proves in a form that it is from a page of the console. */
	readonly formToken: string;
	/** Whether the person has just shown who they are in another way than by their password, in this browser. */
	readonly isFresh: boolean;
	/** A token that the way back from single sign-on has left, as a proof that is good once. */
	readonly shownIdentity: string | undefined;
	/** Begins to tie an identity of single sign-on to the person. */
	connect(): Promise<{ readonly address: string; readonly cookie: string }>;
}

/** A request as a page sees it. */
export interface PageRequest extends OpenSession, EntranceFacts {
	readonly request: ConsoleRequest;
	/** The named parts of the path. */
	readonly parts: Readonly<Record<string, string>>;
	readonly query: URLSearchParams;
	/** The fields of the form. */
	readonly form: URLSearchParams;
	/** Where people reach the console, without a path. */
	readonly consoleUrl: string;
	/** The tag as pages load it; undefined where only the operator knows at which address browsers reach the service. */
	readonly tagUrl: string | undefined;
	/**
	 * Does what the person asks for, which the audit log says.
	 * @param account what it is about, where that is not the page's
	 * @throws NotAllowedError, OperatorError
	 */
	act<Of extends Fields, Result, About extends ActAccount | undefined>(
		of: Act<Of, Result, About>,
		given: GivenFields<Of>,
		account?: ActAccount,
	): Promise<Result>;
	/**
	 * Writes what the person does into the audit log.
	 * @param about whom or what: a visitor, the id of a key, an address; never a secret
	 */
	note(action: string, about?: string): Promise<void>;
	/** All pages, in the order of the menu. */
	readonly pages: readonly ConsolePage[];
	/** Does a job on a thread of its own, while requests come first. */
	readonly compute: ComputeInBackground;
	/** Something failed that is no fault of the request. */
	readonly onError: (error: unknown, what: string) => void;
	readonly store: OpenStore;
	readonly directory: AccessDirectory;
	/** Milliseconds since 1970. */
	readonly now: () => number;
	/** Undefined where the page is of no account. */
	readonly account?: KnownAccount;
}

export interface AccountRequest extends PageRequest {
	readonly account: KnownAccount;
	readonly view: View;
	/** Of the view's time zone. */
	readonly calendar: Calendar;
	/** What pictures of time tell of days. Read once for a page. */
	dayNotes(): Promise<readonly DayNote[]>;
	/** Makes a report of the account, on a thread. */
	report(query: ReportQuery): Promise<Report>;
	/** What capabilities say that somebody should look at. */
	attention(asked: AccountRequest): Promise<readonly HtmlValue[]>;
	/** Does a job of the account on the thread of reports, unless it was done a short while ago with the same models and goals. */
	computed<Type extends keyof ComputeJobs>(job: BackgroundJob<Type>): Promise<ComputeJobs[Type]['result']>;
	/** What the account's pages have made a short while ago, else what is made now. @param key all that it depends on, but for time */
	kept<Made>(key: unknown, make: () => Promise<Made>): Promise<Made>;
	/** What a page can be without, if it is made soon; else undefined, and the page says so and is `unfinished`. */
	soon<Made>(making: Promise<Made>): Promise<Made | undefined>;
}

/** Declares a page of an account, which is never asked without one. */
export function accountPage(page: AccountPage): ConsolePage {
	return page as ConsolePage;
}

/** What somebody asked for takes another role. */
export class NotAllowedError extends OperatorError {
	constructor() {
		super('Your role does not allow this. An administrator can give you another one on the page People.');
	}
}
