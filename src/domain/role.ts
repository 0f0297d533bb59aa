/** What a server does: `api` takes uploads and serves reads, `collect` takes hits. */
export const allRoles = ['api', 'collect'] as const;
export type Role = (typeof allRoles)[number];
