-- Prints wrk's summary as JSON.
function done(summary)
	local errors = summary.errors
	io.write(string.format(
		'\n{"requests":%d,"seconds":%f,"refused":%d,"broken":%d}\n',
		summary.requests,
		summary.duration / 1e6,
		errors.status,
		errors.connect + errors.read + errors.write + errors.timeout
	))
end
