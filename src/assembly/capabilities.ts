import { accounts } from '../capabilities/accounts/index.ts';
import { demo } from '../capabilities/demo/index.ts';
import { documentation } from '../capabilities/documentation/index.ts';
import { experiments } from '../capabilities/experiments/index.ts';
import { history } from '../capabilities/history/index.ts';
import { people } from '../capabilities/people/index.ts';
import { receipts } from '../capabilities/receipts/index.ts';
import { reports } from '../capabilities/reports/index.ts';
import { training } from '../capabilities/training/index.ts';
import { upkeep } from '../capabilities/upkeep/index.ts';
import { visitors } from '../capabilities/visitors/index.ts';
import { webhooks } from '../capabilities/webhooks/index.ts';
import { auditing } from '../kit/audit.ts';
import type { Capability, ConsolePart } from '../kit/capability-declaration.ts';

/** All that this Caskade can do besides its core, in the order of the help. */
export const capabilities: readonly Capability[] = [
	auditing,
	receipts,
	accounts,
	history,
	reports,
	training,
	experiments,
	visitors,
	webhooks,
	people,
	upkeep,
	documentation,
	demo,
];

/** What they add to the console. */
export const consoleParts = (): Promise<ConsolePart[]> =>
	Promise.all(capabilities.flatMap(({ pages }) => pages?.() ?? []));
