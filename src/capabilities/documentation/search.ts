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

/** Sections that have all words, else those that have one. Those come first that have whole words, most of all in their heading, and what explains terms. */
export function search(documents: Documents, query: string): FoundPage[] {
	const words = query.toLowerCase().match(/[\p{L}\p{N}_./-]*[\p{L}\p{N}_]/gu) ?? [];
	if (words.length === 0) return [];
	const whole = words.map(
		(word) => new RegExp(`(?<![\\p{L}\\p{N}])${RegExp.escape(word)}(?![\\p{L}\\p{N}])`, 'gu'),
	);
	const countWhole = (text: string) =>
		whole.reduce((sum, word) => sum + Math.min(text.match(word)?.length ?? 0, 5), 0);
	const all = [...documents.values()].flatMap((document) =>
		document.sections.flatMap((section) => {
			const heading = `${document.title} ${section.heading}`.toLowerCase();
			const { text, searched: lower } = section;
			const has = words.filter((word) => heading.includes(word) || lower.includes(word)).length;
			if (has === 0) return [];
			const inHeading = countWhole(section.heading.toLowerCase());
			const isReason = document.path.startsWith('decisions/') || document.path === 'changelog';
			const isGlossary = document.path === 'reference/glossary';
			const score = 20 * inHeading + countWhole(lower) + (isGlossary ? 20 : 0) - (isReason ? 15 : 0);
			const places = words.map((word) => lower.indexOf(word)).filter((place) => place >= 0);
			const from = places.length > 0 ? Math.max(0, Math.min(...places) - excerptLength / 4) : 0;
			return [{ document, section, excerpt: text.slice(from, from + excerptLength), score, has }];
		}),
	);
	const withAll = all.filter(({ has }) => has === words.length);
	const found = withAll.length > 0 ? withAll : all;
	return found.sort((a, b) => b.has - a.has || b.score - a.score).slice(0, maxFoundPages);
}
