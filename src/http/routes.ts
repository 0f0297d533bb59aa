import type { FastifyInstance } from 'fastify';
import { ApiError } from '../errors.ts';

/** Those that a 405 names, in this order. */
const methods = ['GET', 'HEAD', 'POST', 'PUT', 'PATCH', 'DELETE'];

/**
 * The paths that there are, and their methods. Nearly all are plain. The framework can be asked only by patterns, which a
 * client's path must never be taken for.
 */
export class Routes {
	readonly #methodsAt = new Map<string, Set<string>>();
	/** Of paths that end in a name of the client's, as `/subscription/:tid`, by what is before it. */
	readonly #methodsUnder = new Map<string, Set<string>>();

	/** Learns the routes that are added from now on. */
	constructor(app: FastifyInstance) {
		app.addHook('onRoute', ({ url, method }) => {
			const [path = '', parameter] = url.split(':');
			const routes = parameter === undefined ? this.#methodsAt : this.#methodsUnder;
			const known = routes.get(path) ?? new Set();
			for (const name of [method].flat()) known.add(name);
			routes.set(path, known);
		});
	}

	/** @param target as the client sent it */
	has(target: string, method: string): boolean {
		const path = pathOf(target);
		if (this.#methodsAt.get(path)?.has(method)) return true;
		const end = path.lastIndexOf('/') + 1;
		return end < path.length && this.#methodsUnder.get(path.slice(0, end))?.has(method) === true;
	}

	/**
	 * The answer to a request that no route takes. `OPTIONS` is what a browser asks before a request from another origin;
	 * the answer is no, as it is to the request.
	 */
	missing(target: string, method: string): ApiError {
		const allowed = methods.filter((candidate) => this.has(target, candidate));
		if (allowed.length === 0) return new ApiError('not_found');
		if (method === 'OPTIONS') return new ApiError('forbidden');
		return new ApiError('method_not_allowed', { headers: { allow: allowed.join(', ') } });
	}
}

/** The path of a request's target, as the framework's router sees it. */
function pathOf(target: string): string {
	const [path = ''] = target.replace(/^https?:\/\/[^/?#]*/i, '').split(/[?#]/, 1);
	try {
		return decodeURI(path);
	} catch {
		return path;
	}
}
