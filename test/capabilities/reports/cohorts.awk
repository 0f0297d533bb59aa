# Cohorts of CDNOW by hand: for each month of a first purchase that was paid for and each age in months, customers and cumulative pence.
# Lines have a customer (the first column), and at the end a date as 19970101, a number of CDs, and dollars.
/^ *[0-9]/ {
	id = $1; month = substr($(NF - 2), 1, 4) * 12 + substr($(NF - 2), 5, 2) - 1
	# Who has paid nothing yet has not begun.
	if (!(id in first) && int($NF * 100 + 0.5) == 0) next
	if (!(id in first)) { first[id] = month; customers[month]++ }
	if (month < first[id]) { print "not in order: " $0; exit 1 }
	age = month - first[id]
	pence[first[id], age] += int($NF * 100 + 0.5)
	if (month > last) last = month
}
END {
	for (cohort = 0; cohort <= last; cohort++) if (cohort in customers) {
		sum = 0
		for (age = 0; cohort + age <= last; age++) {
			sum += pence[cohort, age]
			printf "%d-%02d %d %d %d\n", int(cohort / 12), cohort % 12 + 1, age, customers[cohort], sum
		}
	}
}
