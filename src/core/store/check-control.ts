import { defaultSegments } from '../domain/segment.ts';
import { type ControlStore, isUsable } from './control/control-store.ts';
import type { Check } from './maintenance.ts';

/** Whether anybody can upload, and which goals and segments keep the meaning that they had in an earlier version. */
export async function* checkControl(control: ControlStore, nowMs: number): AsyncIterable<Check> {
	const clients = await control.clients();
	const enabled = new Set(
		clients.filter(({ disabledAt }) => disabledAt === null).map(({ client }) => client),
	);
	const usable = (await control.keys()).filter(
		(key) => isUsable(key, nowMs) && enabled.has(key.client),
	).length;
	yield {
		check: 'keys',
		ok: usable > 0,
		detail: usable > 0 ? `${usable} usable` : `none: nobody can upload; 'caskade key issue' makes one`,
	};
	for (const { id, aid } of await control.accounts()) {
		const segments = await control.segments(id);
		if (segments.some(({ id: name, rule }) => name === 'subscriber' && rule === 'visitor.subscriptions > 0'))
			yield {
				check: `segments of ${aid}`,
				ok: true,
				detail: `'subscriber' is whoever has ever subscribed; in new accounts it is who subscribes now, and 'subscribed-before' is the rest. 'caskade visitor rebuild ${aid}', 'caskade segment update ${aid} subscriber --rule "${ruleOf('subscriber')}"' and 'caskade segment create ${aid} subscribed-before --name "Subscribed before" --rule "${ruleOf('subscribed-before')}"' change that.`,
			};
		const goals = await control.goals(id);
		const [old] = goals.filter(({ name, counts }) => name === 'subscription' && counts === 'any');
		if (!old) continue;
		const renewal = goals.some(({ counts }) => counts === 'renewal')
			? ''
			: ` 'caskade goal create ${aid} renewal --evt "*" --counts renewal --horizon-days 31' scores renewals apart.`;
		yield {
			check: `goals of ${aid}`,
			ok: true,
			detail: `'subscription' counts renewals and refunds, too, so that it mostly ranks those who subscribe already; new accounts count acquisitions. 'caskade goal update ${aid} subscription --counts acquisition', 'caskade visitor rebuild ${aid}' and 'caskade train ${aid}' change that.${renewal}`,
		};
	}
}

function ruleOf(segmentId: string): string {
	return defaultSegments.find(({ id }) => id === segmentId)?.rule as string;
}
