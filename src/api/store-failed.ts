import { ApiError, OutcomeUnknownError, QueueFullError } from '../errors.ts';

/**
 * @param texts what the answer says about the request, where the store has failed and where its outcome is unknown
 * @returns a function that throws an ApiError for any error of the store
 */
export function storeFailed(
	aid?: string,
	{ failed = 'the store failed', unknown = 'outcome unknown; retrying is safe' } = {},
): (error: unknown) => never {
	return (error) => {
		if (error instanceof ApiError) throw error;
		if (error instanceof QueueFullError)
			throw new ApiError('overloaded', { headers: { 'retry-after': '1' } });
		const detail = error instanceof OutcomeUnknownError ? unknown : failed;
		throw new ApiError('internal', { detail, ...(aid !== undefined && { aid }), cause: error });
	};
}
