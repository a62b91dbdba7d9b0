package topology

import "strconv"

// Table is the schema of the one table: what its adapter stores and what the
// stack creates. Key attributes are strings.
type Table struct {
	PartitionKey, SortKey string
	// ExpiryAttribute holds the Unix second after which DynamoDB may remove an item.
	ExpiryAttribute string
	// Indexes are the global secondary indexes, GSI1 first.
	Indexes []Index
}

// Index is one global secondary index. It shows its own keys, the table's
// keys and the attributes it projects.
type Index struct {
	Name                  string
	PartitionKey, SortKey string
	Projects              []string
}

// DataTable is the table's schema.
func DataTable() Table {
	list := []string{"Type", "Version", "Format", "CreatedAt", "UpdatedAt", "Body"} // what a list shows
	due := []string{"Type", "Version"}                                              // what finding due work takes
	return Table{
		PartitionKey:    "PK",
		SortKey:         "SK",
		ExpiryAttribute: "TTL",
		Indexes:         []Index{index(1, list), index(2, list), index(3, list), index(4, due)},
	}
}

func index(n int, projects []string) Index {
	name := "GSI" + strconv.Itoa(n)
	return Index{Name: name, PartitionKey: name + "PK", SortKey: name + "SK", Projects: projects}
}
