import { OperatorError } from '../core/errors.ts';
import type { Account, ControlStore } from '../core/store/control/control-store.ts';
import type { OpenStore } from '../core/store/store.ts';
import { capitalised } from './format/capitalised.ts';
import { oneOf, storableText } from './format/values.ts';
import type { Right } from './person.ts';

/** Something that an act takes: a flag or an argument of its command, and a field of its form. */
export interface Field {
	/** As the command has it: `--counts <events>`, `--evt <names...>` for several, `--with-cid` for a yes, `<name>` for an argument. */
	readonly flag: string;
	/** What the command says of it, and the form where it has no hint. */
	readonly text: string;
	/**
	 * What the form calls it, where that is not its name, or the text of a yes. A form hides an argument without a label: it says what
	 * the form is about.
	 */
	readonly label?: string;
	readonly hint?: string;
	/** Parses one value; without it any text is good. */
	readonly parse?: (text: string) => unknown;
	/** All that may be chosen. */
	readonly choices?: readonly string[];
	/** Of what some may be chosen, separated by commas. */
	readonly someOf?: readonly string[];
	/** What each of them means. */
	readonly meanings?: Readonly<Record<string, string>>;
	/** What it mostly is; anything else that can be parsed is good, too. */
	readonly suggestions?: readonly string[];
	/** What it is where it is left out, as somebody would write it. */
	readonly usual?: string;
	/** Whether it may be left out without being anything then. */
	readonly isOptional?: boolean;
	/** Whether it holds for an installation, so that the environment may set it, too. */
	readonly isSetting?: boolean;
	/** The flag that takes it away, and what the command says of it. It is null then, and a yes is false. */
	readonly negation?: readonly [flag: string, text: string];
}

export type Fields = Readonly<Record<string, Field>>;

type OneOf<Of extends Field> = Of extends { readonly choices: readonly (infer Choice)[] }
	? Choice
	: Of extends { readonly parse: (text: string) => infer Value }
		? Value
		: Of['flag'] extends `${string}<${string}`
			? string
			: boolean;
type SomeOf<Of extends Field> = Of['flag'] extends `${string}...${string}` ? readonly OneOf<Of>[] : OneOf<Of>;

type ValueOf<Of extends Field> =
	| SomeOf<Of>
	| (Of extends { readonly flag: `${string}<${string}`; readonly negation: readonly string[] }
			? null
			: never);
type OptionalOf<Of extends Fields> = {
	[Name in keyof Of]: Of[Name] extends { readonly isOptional: true } ? Name : never;
}[keyof Of];

/** What is given to an act that takes these fields. */
export type GivenFields<Of extends Fields> = {
	readonly [Name in Exclude<keyof Of, OptionalOf<Of>>]: ValueOf<Of[Name]>;
} & {
	readonly [Name in OptionalOf<Of>]?: ValueOf<Of[Name]> | undefined;
};

export const takesMany = ({ flag }: Field): boolean => flag.includes('...');
export const isYes = ({ flag }: Field): boolean => !flag.includes('<');

/** Parses one value of a field. @throws OperatorError */
export const parserOf = ({ parse = String, choices }: Field): ((text: string) => unknown) => {
	const of = choices ? oneOf(choices) : parse;
	return (text) => of(storableText(text));
};

/** The account that an act is about. */
export type ActAccount = Pick<Account, 'id' | 'aid' | 'client' | 'timezone'>;

export interface ActPlace<About = ActAccount> {
	readonly store: OpenStore;
	readonly account: About;
	/** Who asks: an address, or the user of the command line. */
	readonly who?: string;
	/** Hears how far what takes long has come. */
	readonly onProgress?: ((done: number, total: number) => void) | undefined;
}

/** What is asked before an act that cannot be undone. */
export interface Warning {
	readonly what: string;
	/** What somebody has called it, where `what` says so. A page isolates it. */
	readonly named?: string;
	/** What somebody who means it writes; left out where a yes is enough. */
	readonly name?: string;
}

/**
 * What it takes besides a session of who may do it: nothing; a proof of who one is, by having just signed in or otherwise; or a code of
 * the second factor, however lately one has signed in. From the least to the most.
 */
export const demands = ['session', 'proof', 'code'] as const;
export type Demand = (typeof demands)[number];

/**
 * Something that changes what is kept. Its command, its form and its entry in the audit log are made of it.
 * @typeParam About undefined where it is about the installation or a client, so that its command names no account
 */
export interface Act<Of extends Fields, Result, About = ActAccount, Prepared = unknown> {
	readonly noun: string;
	readonly verb: string;
	/** What the audit log says that was done, where that is not the noun and the verb's past. */
	readonly done?: string | ((given: GivenFields<Of>) => string);
	/** What the list of commands says of it. */
	readonly summary: string;
	readonly description?: string;
	/** Null where it is of whoever has signed in, about themselves. */
	readonly right: Right | null;
	/**
	 * What its form takes: a proof, unless it says otherwise. A proof is for what hands out access (keys, people, roles, links, passwords,
	 * second factors, origins), says where data of persons goes, or cannot be undone.
	 */
	readonly demand?: Demand;
	readonly isOfAll?: About extends undefined ? true : never;
	/** Whether its command begins a store where there is none. */
	readonly begins?: boolean;
	/** An argument says what it concerns, and stands in the audit log: it is never a secret. */
	readonly takes: Of;
	/** Why there is no form. */
	readonly noForm?: string;
	/** Why there is no command. */
	readonly noCommand?: string;
	/** What the audit log says that it concerned, where that is not its argument. Never a secret. */
	about?(result: Result, given: GivenFields<Of>, prepared: Prepared): string | undefined;
	/** What it would take away; undefined where that is nothing. */
	warning?(place: ActPlace<About>, given: GivenFields<Of>): Promise<Warning | undefined>;
	/** What takes long, or waits for others, before the control database is locked. */
	prepare?(place: ActPlace<About>, given: GivenFields<Of>): Promise<Prepared>;
	/** Missing where all is done by `finish`. Changes the control database by `control` alone, in the transaction of the entry. What deletes gives nothing. */
	run?(
		control: ControlStore,
		place: ActPlace<About>,
		given: GivenFields<Of>,
		prepared: Prepared,
	): Promise<Result>;
	/** What is done outside of it, once that is decided. May be done again. What it gives is the result, if it is anything. */
	finish?(place: ActPlace<About>, given: GivenFields<Of>, prepared: Prepared): Promise<Result | undefined>;
	/** Whether the command ends with an error, though it was done. */
	hasFailed?(result: Result): boolean;
	/** The result as the command's table has it. */
	record?(result: Result): object;
	/** What the command says in place of a table. */
	line?(given: GivenFields<Of>, result: Result): string;
	/** What it says after the table. */
	remark?(place: ActPlace<About>, given: GivenFields<Of>): string | undefined;
}

/** Declares an act about an account. */
export const act = <const Of extends Fields, Result, Prepared>(
	declared: Act<Of, Result, ActAccount, Prepared>,
): Act<Of, Result> => declared as Act<Of, Result>;

/** Declares an act about the installation or a client. */
export const actOfAll = <const Of extends Fields, Result, Prepared>(
	declared: Act<Of, Result, undefined, Prepared>,
): Act<Of, Result, undefined> => declared as Act<Of, Result, undefined>;

// biome-ignore lint/suspicious/noExplicitAny: what an act takes and gives is only known to who names it.
export type AnyAct = Act<any, any, any>;

/**
 * The only way in: whoever calls, the audit log has it, in the transaction of the act, also where it is refused.
 * @param who an address, or the user of the command line
 * @throws OperatorError
 */
export async function runAct<Of extends Fields, Result, About extends ActAccount | undefined>(
	of: Act<Of, Result, About>,
	who: string,
	asked: ActPlace<About>,
	given: GivenFields<Of>,
): Promise<Result> {
	const place = { ...asked, who };
	const { control } = place.store;
	const entry = { who, aid: place.account?.aid ?? null, about: concerned(of.takes, given) };
	try {
		const prepared = await of.prepare?.(place, given);
		const result = await control.together(async (together) => {
			const result = (await of.run?.(together, place, given, prepared)) as Result;
			const about = of.about?.(result, given, prepared) ?? entry.about;
			await together.audit.add({ ...entry, action: doneOf(of, given), about });
			return result;
		});
		return (await of.finish?.(place, given, prepared)) ?? result;
	} catch (error) {
		if (error instanceof OperatorError) await control.audit.add({ ...entry, action: refusedOf(of) });
		throw error;
	}
}

/** What an act gives, for programs: what deletes names what is gone. */
export function shownResult<Result>(
	{ verb, takes }: Pick<AnyAct, 'verb' | 'takes'>,
	given: Readonly<Record<string, unknown>>,
	result: Result,
): Result | { readonly deleted: string | null } {
	return verb === 'delete' ? { deleted: concerned(takes, given) } : result;
}

/** What the argument of an act names; null where it has none. */
export function concerned(takes: Fields, given: Readonly<Record<string, unknown>>): string | null {
	const [named] = Object.entries(takes).find(([, { flag }]) => flag.startsWith('<')) ?? [];
	return named === undefined ? null : String(given[named]);
}

/** How the audit log says that an act was done, as `goal created`. */
export function doneOf<Of extends Fields>(
	{ noun, verb, done }: Pick<Act<Of, unknown>, 'noun' | 'verb' | 'done'>,
	given: GivenFields<Of>,
): string {
	if (done !== undefined) return typeof done === 'string' ? done : done(given);
	return `${noun} ${verb === 'stop' ? 'stopped' : verb.replace(/e?$/, 'ed')}`;
}

/** How the audit log says that an act was refused. */
export function refusedOf({ noun, verb }: Pick<AnyAct, 'noun' | 'verb'>): string {
	return `refused: ${noun} ${verb}`;
}

/** What a form calls a field; undefined where it hides it. */
export function formLabelOf(name: string, field: Field): string | undefined {
	const { flag, text, label } = field;
	if (label !== undefined || !flag.startsWith('-')) return label;
	return isYes(field) ? text : capitalised(name);
}
