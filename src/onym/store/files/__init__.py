"""Reading other people's files, within limits: streams, archives, XML, JSON, tables."""
