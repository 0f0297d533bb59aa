import { areMachines, burstsIn, goesOnMs, type MailArrival } from '../../domain/mail-gateways.ts';
import type { Profile } from '../../domain/profile.ts';

/**
 * The profiles of a sample of visitors, or of visits, without those of mail gateways. Scores are compared with this sample while pages
 * wait, so it is told from the profiles alone: they do not say by which mailing somebody came, and all mail counts as one.
 * @param latest of the latest to arrive, in any order
 */
export async function* sampledPeople(latest: AsyncIterable<Profile>, nowMs: number): AsyncGenerator<Profile> {
	const byMail: MailArrival[] = [];
	/** Of whom it is told when all are known, by their place in the sample. */
	const quiet = new Map<string, Profile>();
	let place = 0;
	for await (const profile of latest) {
		const isByMail = profile.firstChannel === 'email';
		const vid = String(place++);
		if (isByMail) byMail.push({ atMs: profile.firstAtMs, vid });
		if (isByMail && isQuiet(profile)) quiet.set(vid, profile);
		else yield profile;
	}
	byMail.sort((a, b) => a.atMs - b.atMs);
	for (const burst of burstsIn(byMail)) {
		if ((burst.at(-1) as MailArrival).atMs > nowMs - goesOnMs) continue;
		const left = burst.filter(({ vid }) => quiet.has(vid));
		if (areMachines(burst.length, burst.length - left.length)) for (const { vid } of left) quiet.delete(vid);
	}
	yield* quiet.values();
}

function isQuiet({ hits, events, subscriptions }: Profile): boolean {
	return hits === 1 && events.length === 0 && subscriptions === null;
}
