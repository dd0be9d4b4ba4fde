"""The Spark session, and all that a release of Spark touches: settings, jars, Java, class archive, scratch, deaths."""
