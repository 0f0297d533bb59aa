import { readFileSync } from 'node:fs';
import { aidOf, bodyMaker, type Tids } from './upload-bodies.ts';

/** The requests that the open-loop load generator sends. */
export type RequestKind =
	| {
			readonly kind: 'uploads';
			readonly key: string;
			readonly rows: number;
			readonly prefix: string;
			readonly tids?: Tids;
	  }
	/** Reads of scores, with the casks of the file `casks`. */
	| { readonly kind: 'reads'; readonly casks: string }
	/** Hits that continue the visits of the file `visits`. */
	| { readonly kind: 'hits'; readonly visits: string };

/** The status that each of these requests should be answered with. */
export const expectedStatusOf = (requests: RequestKind) => (requests.kind === 'uploads' ? 201 : 200);

/** Returns a function that builds whole requests. It is cheap, because it prepares all but a few characters once. */
export function requestMaker(requests: RequestKind): (request: number) => string {
	if (requests.kind === 'uploads') {
		const body = bodyMaker(requests.prefix, requests.rows, requests.tids);
		const head = `POST /subscription HTTP/1.1\r\nHost: 127.0.0.1\r\nContent-Type: application/json\r\nx-api-key: ${requests.key}\r\nContent-Length: ${body(0).length}\r\n\r\n`;
		return (request) => head + body(request);
	}
	const texts =
		requests.kind === 'reads'
			? linesOf(requests.casks).map(
					(cask) =>
						`GET /visscores?cask=${cask} HTTP/1.1\r\nHost: 127.0.0.1\r\nOrigin: https://shop.example\r\n\r\n`,
				)
			: linesOf(requests.visits).map(hitOf);
	return () => texts[Math.floor(Math.random() * texts.length)] as string;
}

function hitOf(visit: string, index: number): string {
	const [vid, sid] = visit.split(' ');
	const page = `articles/page-${index % 200}`;
	const body = JSON.stringify({
		aid: aidOf(1),
		vid,
		sid,
		url: `https://shop.example/${page}`,
		title: `The page ${page}`,
		events: [],
	});
	return `POST /hit HTTP/1.1\r\nHost: 127.0.0.1\r\nOrigin: https://shop.example\r\nContent-Type: text/plain;charset=UTF-8\r\nUser-Agent: Mozilla/5.0 (Windows NT 10.0; Win64; x64) AppleWebKit/537.36 (KHTML, like Gecko) Chrome/142.0.1.0 Safari/537.36\r\nContent-Length: ${body.length}\r\n\r\n${body}`;
}

function linesOf(path: string): string[] {
	return readFileSync(path, 'latin1').trim().split('\n');
}
