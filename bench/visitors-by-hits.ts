import type { RequestMaker } from './connections.ts';
import { aidOf } from './upload-bodies.ts';

/** Who has sent hits: made as pages do it, so that any version of the service can have them. */
export interface KnownVisitor {
	readonly vid: string;
	readonly sid: string;
	readonly cask: string;
}

/** Hits that are sent at the same time. */
const lanes = 32;
const pages = 200;

/** Who a visitor says that it is. */
export const customerOf = (visitor: number) => `visitor-${visitor}`;

/** Makes visitors who came by a campaign, looked at two pages and said who they are, so that uploads look for whose events are. */
export async function makeVisitors(url: string, count: number): Promise<KnownVisitor[]> {
	const visitors: KnownVisitor[] = [];
	let next = 0;
	const visit = async () => {
		while (next < count) {
			const visitor = next++;
			const cid = customerOf(visitor);
			const { vid, sid } = await sendHit(url, hitBody({ path: '/?utm_source=news&utm_medium=email' }));
			visitors.push(
				await sendHit(url, hitBody({ vid, sid, cid, path: `/articles/page-${visitor % pages}` })),
			);
		}
	};
	await Promise.all(Array.from({ length: lanes }, visit));
	return visitors;
}

function hitBody(hit: {
	vid?: string;
	sid?: string;
	cid?: string;
	path: string;
	referrer?: string;
	events?: object[];
}): string {
	const { path, ...rest } = hit;
	return JSON.stringify({ aid: aidOf(1), url: `https://shop.example${path}`, title: 'The page', ...rest });
}

async function sendHit(url: string, body: string): Promise<KnownVisitor> {
	const headers = { 'content-type': 'text/plain;charset=UTF-8', 'user-agent': agents(1) };
	const response = await fetch(`${url}/hit`, { method: 'POST', headers, body });
	if (response.status !== 200) throw new Error(`A hit was answered with ${response.status}.`);
	return (await response.json()) as KnownVisitor;
}

const agents = (version: number) =>
	`Mozilla/5.0 (Windows NT 10.0; Win64; x64) AppleWebKit/537.36 (KHTML, like Gecko) Chrome/142.0.${version}.0 Safari/537.36`;
const random = (below: number) => Math.floor(Math.random() * below);
const campaigns = ['', '', '?utm_source=news&utm_medium=email', '?gclid=abc123'];
const referrers = ['', 'https://www.google.com/', 'https://www.facebook.com/', 'https://blog.example/post'];
const events = ['scroll', 'video', 'add-to-basket', 'checkout'];

/** Hits like those of `hits.lua`: a fifth is from new visitors, the others continue visits. */
export function hits(visitors: readonly KnownVisitor[]): RequestMaker {
	return () => {
		const isNew = Math.random() < 0.2;
		const { vid, sid } = visitors[random(visitors.length)] as KnownVisitor;
		const page = Math.floor(Math.random() ** 3 * pages);
		const body = hitBody({
			...(!isNew && { vid, sid }),
			path: `/articles/page-${page}${isNew ? campaigns[random(campaigns.length)] : ''}`,
			referrer: isNew ? (referrers[random(referrers.length)] as string) : 'https://shop.example/',
			events: Math.random() < 0.2 ? [{ name: events[random(events.length)] }] : [],
		});
		const headers = `Origin: https://shop.example\r\nContent-Type: text/plain;charset=UTF-8\r\nUser-Agent: ${agents(random(200))}\r\n`;
		return post('/hit', headers, body);
	};
}

/** Reads of random visitors, each with the cask of its last hit. */
export function reads(target: string, visitors: readonly KnownVisitor[]): RequestMaker {
	const requests = visitors.map(
		({ cask }) =>
			`GET ${target}?cask=${cask} HTTP/1.1\r\nHost: 127.0.0.1\r\nOrigin: https://shop.example\r\n\r\n`,
	);
	return () => requests[random(requests.length)] as string;
}

/** @param headers each with its line end */
export function post(path: string, headers: string, body: string): string {
	return `POST ${path} HTTP/1.1\r\nHost: 127.0.0.1\r\n${headers}Content-Length: ${Buffer.byteLength(body)}\r\n\r\n${body}`;
}
