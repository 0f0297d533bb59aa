import type { FastifyInstance } from 'fastify';
import { OperatorError } from '../errors.ts';
import type { Routes } from '../http/routes.ts';
import { hit } from './hit.ts';
import { hitGif } from './hit-gif.ts';
import type { HitHandler } from './hit-handler.ts';
import { tag } from './tag.ts';

/** Where hits and the tag are besides `/hit` and `/tag.js`. */
export interface SitePaths {
	readonly hitPath?: string | undefined;
	readonly tagPath?: string | undefined;
}

/**
 * Hits and the tag at paths that a site chooses. To be added after all other routes, because they may not begin like
 * one of those: the next version may serve more below it.
 * @throws OperatorError where a path is taken
 */
export function sitePaths(
	app: FastifyInstance,
	handler: HitHandler,
	routes: Routes,
	{ hitPath, tagPath }: SitePaths,
): void {
	const beginning = (path: string) => path.split('/')[1] as string;
	const taken = new Set(
		routes.paths
			.filter((path) => path.startsWith(`${app.prefix}/`))
			.map((path) => beginning(path.slice(app.prefix.length))),
	);
	const requireFree = (flag: string, path: string) => {
		if (taken.has(beginning(path)))
			throw new OperatorError(
				`${flag} must not be ${path}, because /${beginning(path)} is the service's own; choose another path, for example /shop${path}.`,
			);
	};
	if (hitPath !== undefined) {
		const image = `${hitPath}.gif`;
		requireFree('--hit-path', hitPath);
		requireFree('--hit-path', image);
		if (tagPath === hitPath || tagPath === image)
			throw new OperatorError(
				`--tag-path must not be ${tagPath}, because hits are accepted there, by --hit-path ${hitPath}; choose another path, for example /shop.js.`,
			);
		hit(app, handler, hitPath);
		hitGif(app, handler, image);
	}
	if (tagPath !== undefined) {
		requireFree('--tag-path', tagPath);
		tag(app, tagPath);
	}
}
