"""The doors: the command line now; REST, MCP and a web page later."""
