// Command gen writes shared/wire/openapi.json from the tables beside it.
package main

import (
	"log"
	"os"

	"companyos/shared/wire"
)

func main() {
	out, err := wire.GenerateOpenAPI()
	if err != nil {
		log.Fatal(err)
	}
	if err := os.WriteFile("openapi.json", out, 0o600); err != nil {
		log.Fatal(err)
	}
}
