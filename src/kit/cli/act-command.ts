import { userInfo } from 'node:os';
import { Argument, type Command, Option } from 'commander';
import type { Account } from '../../core/store/control/control-store.ts';
import type { OpenStore, Store } from '../../core/store/store.ts';
import {
	type AnyAct,
	concerned,
	type Field,
	type Fields,
	isYes,
	runAct,
	shownResult,
	takesMany,
} from '../act.ts';
import { filled, setting } from '../config.ts';
import { capitalised } from '../format/capitalised.ts';
import type { Listing } from '../listing.ts';
import { type Buildable, command, type Declaration, group, repeated } from './command.ts';
import { askOnTerminal } from './confirm.ts';
import { type CommonOptions, print, printLine, printRecord } from './output.ts';

type Flags = CommonOptions & { readonly yes?: boolean } & Readonly<Record<string, unknown>>;

/** Who the audit log says that uses the command line. */
export function commandLineUser(): string {
	try {
		return `command line, as ${userInfo().username}`;
	} catch {
		// A container may give the process an id that no user has.
		return `command line, as ${process.getuid?.() ?? 'somebody'}`;
	}
}

/** Has the audit log say what a command does that is no act: it has no form. */
export function noteDone(store: Pick<Store, 'control'>, action: string, aid: string, about?: string) {
	return store.control.audit.add({ who: commandLineUser(), action, aid, about: about ?? null });
}

/**
 * The command of a noun: its acts and its list, and what else there is of it, by the alphabet.
 * @param declared what the module of its acts exports
 * @param others take the place of an act or list with the same name
 */
export function nounCommand(
	noun: string,
	summary: string,
	description: string,
	declared: object,
	others: readonly Buildable[] = [],
): Buildable {
	const isOwn = ({ name }: Buildable) => !others.some((other) => other.name === name);
	const made = Object.values(declared as Readonly<Record<string, AnyAct | Listing | undefined>>).flatMap(
		(one) => {
			if (one?.noun !== noun) return [];
			if ('read' in one) return [listCommand(one)];
			return one.noCommand === undefined ? [actCommand(one)] : [];
		},
	);
	const all = [...made.filter(isOwn), ...others];
	return group(
		noun,
		summary,
		description,
		all.sort((one, other) => (one.name < other.name ? -1 : 1)),
	);
}

/** The command of a list. */
const listCommand = ({ summary, read, empty }: Listing): Buildable =>
	command('list', summary).onAccount(async (store, account, options) =>
		print(options, await read(store, account), empty(account)),
	);

/** The command of an act. */
function actCommand(of: AnyAct): Buildable {
	const { verb, summary, description, takes, warning, begins = false } = of;
	const declared = withFields(command(verb, summary), takes);
	if (description !== undefined) declared.description(description);
	if (warning) declared.option('--yes', `${verb} without asking`);
	if (verb === 'update') declared.requireChange();
	if (of.isOfAll)
		declared.onStore(
			(store, flags, ...args: unknown[]) => runCommand(of, store, undefined, { flags, args }),
			{ create: begins },
		);
	else
		declared.onAccount((store, account, flags, ...args: unknown[]) =>
			runCommand(of, store, account, { flags, args }),
		);
	return declared;
}

/** Adds the flags and arguments of fields to a command that is more than its act. */
export function withFields<Options, Args extends readonly unknown[]>(
	declared: Declaration<Options, Args>,
	takes: Fields,
): Declaration<Options & Flags, Args> {
	return declared.with<Flags>((own) => {
		for (const field of Object.values(takes)) addField(own, field);
	});
}

function addField(own: Command, field: Field): void {
	const {
		flag,
		text,
		parse = String,
		choices,
		usual,
		isOptional = false,
		isSetting = false,
		negation,
	} = field;
	const takes = isYes(field) ? undefined : takesMany(field) ? repeated(parse) : (choices ?? parse);
	if (!flag.startsWith('-')) {
		own.addArgument(filled(new Argument(flag, text), takes));
		return;
	}
	if (isSetting) {
		own.addOption(setting(flag, text, parse));
		return;
	}
	const parsed = usual === undefined ? undefined : parse(usual);
	const shown = typeof parsed === 'object' ? usual : undefined;
	const option = filled(new Option(flag, text), takes, parsed, shown);
	own.addOption(option.makeOptionMandatory(usual === undefined && !isOptional && !isYes(field)));
	if (negation) own.addOption(new Option(...negation));
}

/** What was given, by the names of the fields. */
function givenOf(
	takes: Fields,
	{ flags, args }: { flags: Flags; args: readonly unknown[] },
): Record<string, unknown> {
	const left = [...args];
	return Object.fromEntries(
		Object.entries(takes).map(([name, field]) => {
			const { flag, isOptional } = field;
			const value = flag.startsWith('-') ? flags[new Option(flag).attributeName()] : left.shift();
			if (value === false && !isYes(field)) return [name, null];
			if (takesMany(field) && Array.isArray(value)) return [name, [...new Set(value)]];
			return [name, isYes(field) && !isOptional ? value === true : value];
		}),
	);
}

function deletedLine({ noun, verb, takes }: AnyAct, given: Record<string, unknown>): string | undefined {
	return verb === 'delete' ? `${capitalised(noun)} ${concerned(takes, given)} is deleted.` : undefined;
}

/** Does what was typed, and prints what it gives. */
export async function runCommand(
	of: AnyAct,
	store: OpenStore,
	account: Account | undefined,
	typed: { readonly flags: Flags; readonly args: readonly unknown[] },
): Promise<void> {
	const { flags } = typed;
	const given = givenOf(of.takes, typed);
	const place = { store, account };
	const warning = await of.warning?.(place, given);
	if (warning) await askOnTerminal(warning.what, warning.name ?? 'yes', flags);
	const result = await runAct(of, commandLineUser(), place, given);
	print(flags, shownResult(of, given, result), () => {
		const line = of.line?.(given, result) ?? deletedLine(of, given);
		if (line !== undefined) printLine(line);
		else printRecord(of.record?.(result) ?? { ...result });
		const remark = of.remark?.(place, given);
		if (remark !== undefined) printLine(remark);
	});
	if (of.hasFailed?.(result)) process.exitCode = 1;
}
