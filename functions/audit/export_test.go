package audit

// The tables of what is watched, for the test that holds them to the catalogue.
var (
	Watched = watched
	Exempt  = exempt
)
