import type { Document, Documents, Section } from './documents.ts';

export interface FoundPage {
	readonly document: Document;
	readonly section: Section;
	/** The words around the first that was found. */
	readonly excerpt: string;
}

/** More are not listed. */
export const maxFoundPages = 20;
const excerptLength = 200;

/** Sections that have all words, else those that have one; those first that have them in their heading. */
export function search(documents: Documents, query: string): FoundPage[] {
	const words = query.toLowerCase().match(/[\p{L}\p{N}_./-]+/gu) ?? [];
	if (words.length === 0) return [];
	const all = [...documents.values()].flatMap((document) =>
		document.sections.flatMap((section) => {
			const heading = `${document.title} ${section.heading}`.toLowerCase();
			const { text, searched: lower } = section;
			const has = words.filter((word) => heading.includes(word) || lower.includes(word)).length;
			if (has === 0) return [];
			const inHeading = words.filter((word) => section.heading.toLowerCase().includes(word)).length;
			const times = words.reduce((sum, word) => sum + Math.min(lower.split(word).length - 1, 5), 0);
			const isReason = document.path.startsWith('decisions/') || document.path === 'changelog';
			const score = 20 * inHeading + times - (isReason ? 15 : 0);
			const places = words.map((word) => lower.indexOf(word)).filter((place) => place >= 0);
			const from = places.length > 0 ? Math.max(0, Math.min(...places) - excerptLength / 4) : 0;
			return [{ document, section, excerpt: text.slice(from, from + excerptLength), score, has }];
		}),
	);
	const whole = all.filter(({ has }) => has === words.length);
	const found = whole.length > 0 ? whole : all;
	return found.sort((a, b) => b.has - a.has || b.score - a.score).slice(0, maxFoundPages);
}
