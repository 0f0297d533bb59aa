import { ApiError, OutcomeUnknownError, QueueFullError, UnavailableError } from '../errors.ts';

/** What an answer says about its request, where the store has failed and where the outcome is unknown. */
interface Texts {
	readonly failed?: string;
	readonly unknown?: string;
}

/** The answer to an error of the store. */
export function storeError(
	error: unknown,
	aid?: string,
	{ failed = 'the store failed', unknown = 'outcome unknown; retrying is safe' }: Texts = {},
): ApiError {
	if (error instanceof ApiError) return error;
	const options = { ...(aid !== undefined && { aid }), cause: error };
	if (error instanceof QueueFullError || error instanceof UnavailableError)
		return new ApiError('overloaded', { headers: { 'retry-after': '1' }, ...options });
	const detail = error instanceof OutcomeUnknownError ? unknown : failed;
	return new ApiError('internal', { detail, ...options });
}

/** @returns a function that throws an ApiError for any error of the store */
export function storeFailed(aid?: string, texts?: Texts): (error: unknown) => never {
	return (error) => {
		throw storeError(error, aid, texts);
	};
}
